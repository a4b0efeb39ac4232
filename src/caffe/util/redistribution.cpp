#include "redistribution.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>

#include "caffe/common.hpp"
#include "rows.hpp"

namespace caffe {
namespace {

using layrub::Layout;
using layrub::Share;
using layrub::Transfer;

int64_t Product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

bool Has(const Layout& layout, Share share) {
  return std::any_of(layout.levels.begin(), layout.levels.end(),
                     [&](const layrub::Level& level) { return level.share == share; });
}

bool MovesNothing(const Layout& from, const Layout& to, const std::vector<Transfer>& transfers) {
  const std::vector<int64_t> dims = LocalDims(from);
  if (dims != LocalDims(to) || static_cast<int>(transfers.size()) != from.devices()) return false;
  return std::all_of(transfers.begin(), transfers.end(), [&](const Transfer& transfer) {
    return transfer.from == transfer.to && Count(transfer) == Product(dims);
  });
}

/// Maximum bytes of a message, since MPI counts in int.
constexpr size_t kMostBytes = size_t{1} << 28;

void SendInPieces(layrub::Communicator* communicator, int to, const std::string& bytes) {
  for (size_t begin = 0; begin < bytes.size(); begin += kMostBytes)
    communicator->Send(to, bytes.substr(begin, kMostBytes), layrub::Channel::kValues);
}

std::string ReceivePieces(layrub::Communicator* communicator, int from, size_t bytes) {
  std::string message = communicator->Receive(from, layrub::Channel::kValues);
  while (message.size() < bytes) message += communicator->Receive(from, layrub::Channel::kValues);
  CHECK_EQ(message.size(), bytes);
  return message;
}

template <typename Dtype>
void Add(const Dtype* x, int64_t count, bool adds, Dtype* y) {
  if (!adds) {
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(Dtype));
    return;
  }
  for (int64_t i = 0; i < count; ++i) y[i] += x[i];
}

}  // namespace

Redistribution::Redistribution(const Layout& from, const Layout& to) {
  std::vector<Layout> layouts{from};
  for (Layout& next : Stages(from, to)) {
    std::vector<Transfer> transfers = Transfers(layouts.back(), next);
    if (MovesNothing(layouts.back(), next, transfers)) continue;
    Stage stage;
    stage.from_dims = LocalDims(layouts.back());
    stage.to_dims = LocalDims(next);
    stage.adds = Has(layouts.back(), Share::kPart) || Has(next, Share::kPart);
    stage.transfers = std::move(transfers);
    stages_.push_back(std::move(stage));
    layouts.push_back(std::move(next));
  }
  nothing_ = stages_.empty();
  received_ = MaxReceived(from, to);
  for (size_t i = 0; i + 1 < stages_.size(); ++i)
    room_ = std::max(room_, Product(stages_[i].to_dims));
  CHECK_LE(stages_.size(), 2u);
}

template <typename Dtype>
void Redistribution::Run(layrub::Communicator* communicator, const Dtype* x, Dtype* y, Dtype* room,
                         int receiver) const {
  const int rank = communicator->rank();
  CHECK(receiver < 0 || stages_.size() <= 1);
  for (const Stage& stage : stages_) {
    Dtype* const out = &stage == &stages_.back() ? y : room;
    for (const Transfer& transfer : stage.transfers) {
      if (transfer.from != rank || transfer.to == rank) continue;
      if (receiver >= 0 && transfer.to != receiver) continue;
      std::string message;
      message.reserve(static_cast<size_t>(Count(transfer)) * sizeof(Dtype));
      ForEachRow(transfer, stage.from_dims, stage.to_dims,
                 [&](int64_t begin, int64_t, int64_t count) {
                   message.append(reinterpret_cast<const char*>(x + begin),
                                  static_cast<size_t>(count) * sizeof(Dtype));
                 });
      SendInPieces(communicator, transfer.to, message);
    }
    if (receiver >= 0 && receiver != rank) return;
    if (stage.adds) std::fill_n(out, Product(stage.to_dims), Dtype(0));
    for (const Transfer& transfer : stage.transfers) {
      if (transfer.to != rank) continue;
      if (transfer.from == rank) {
        ForEachRow(transfer, stage.from_dims, stage.to_dims,
                   [&](int64_t begin, int64_t to, int64_t count) {
                     Add(x + begin, count, stage.adds, out + to);
                   });
        continue;
      }
      const std::string message = ReceivePieces(
          communicator, transfer.from, static_cast<size_t>(Count(transfer)) * sizeof(Dtype));
      const auto* next = reinterpret_cast<const Dtype*>(message.data());
      ForEachRow(transfer, stage.from_dims, stage.to_dims, [&](int64_t, int64_t to, int64_t count) {
        Add(next, count, stage.adds, out + to);
        next += count;
      });
    }
    x = out;
  }
}

template void Redistribution::Run(layrub::Communicator*, const float*, float*, float*, int) const;
template void Redistribution::Run(layrub::Communicator*, const double*, double*, double*,
                                  int) const;

}  // namespace caffe
