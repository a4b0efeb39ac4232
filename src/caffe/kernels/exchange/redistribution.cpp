#include "caffe/kernels/exchange/redistribution.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "caffe/kernels/require.hpp"
#include "caffe/kernels/shape/copy.hpp"

namespace caffe {
namespace {

using kernels::BoxPair;
using layrub::Layout;
using layrub::Parcel;
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

int64_t CountOf(const BoxPair& boxes) { return Product({boxes.size, boxes.size + boxes.axes}); }

/// Adds `run` of a dimension outside of those that `boxes` has. `from` and `to` are the numbers
/// that an index of it spans in the two arrays. Merges it with the next axis where that is whole.
BoxPair WithOuterAxis(BoxPair boxes, const layrub::Run& run, int64_t from, int64_t to) {
  boxes.x_first += run.from * from;
  boxes.y_first += run.to * to;
  int64_t& inner = boxes.size[0];
  if (boxes.x_stride[0] * inner == from && boxes.y_stride[0] * inner == to) {
    inner *= run.count;
    return boxes;
  }
  std::copy_backward(boxes.size, boxes.size + boxes.axes, boxes.size + boxes.axes + 1);
  std::copy_backward(boxes.x_stride, boxes.x_stride + boxes.axes, boxes.x_stride + boxes.axes + 1);
  std::copy_backward(boxes.y_stride, boxes.y_stride + boxes.axes, boxes.y_stride + boxes.axes + 1);
  ++boxes.axes;
  boxes.size[0] = run.count;
  boxes.x_stride[0] = from;
  boxes.y_stride[0] = to;
  return boxes;
}

/// The boxes of a transfer: one for each choice of one run per dimension.
std::vector<BoxPair> BoxesOf(const Transfer& transfer, const std::vector<int64_t>& from_dims,
                             const std::vector<int64_t>& to_dims) {
  BoxPair number;
  number.axes = 1;
  number.size[0] = number.x_stride[0] = number.y_stride[0] = 1;
  std::vector<BoxPair> boxes{number};
  int64_t from = 1, to = 1;
  for (size_t d = transfer.runs.size(); d-- > 0;) {
    std::vector<BoxPair> wider;
    for (const BoxPair& box : boxes) {
      for (const layrub::Run& run : transfer.runs[d])
        wider.push_back(WithOuterAxis(box, run, from, to));
    }
    boxes = std::move(wider);
    from *= from_dims[d];
    to *= to_dims[d];
  }
  return boxes;
}

/// Calls move(boxes, begin, end, at) for each of `boxes` that has numbers of [begin, end), counted
/// through all of them. `at`: how many of these come before.
template <typename Move>
void ForEachBox(const std::vector<BoxPair>& boxes, int64_t begin, int64_t end, const Move& move) {
  int64_t first = 0;
  for (const BoxPair& box : boxes) {
    const int64_t count = CountOf(box);
    const int64_t from = std::max(begin, first), to = std::min(end, first + count);
    if (from < to) move(box, from - first, to - first, from - begin);
    first += count;
  }
}

}  // namespace

Redistribution::Stage Redistribution::StageOf(const Layout& from, const Layout& to,
                                              const std::vector<Transfer>& transfers,
                                              int64_t most_in_flight) {
  const std::vector<int64_t> from_dims = LocalDims(from), to_dims = LocalDims(to);
  Stage stage;
  stage.count = Product(to_dims);
  stage.adds = Has(from, Share::kPart) || Has(to, Share::kPart);
  std::vector<int64_t> parcels(static_cast<size_t>(from.devices()));  // by device
  for (const Transfer& transfer : transfers) {
    stage.parts.push_back(
        {transfer.from, transfer.to, Count(transfer), BoxesOf(transfer, from_dims, to_dims)});
    stage.largest = std::max(stage.largest, stage.parts.back().count);
    if (transfer.from == transfer.to) continue;
    ++parcels[static_cast<size_t>(transfer.from)];
    ++parcels[static_cast<size_t>(transfer.to)];
  }
  const int64_t most = *std::max_element(parcels.begin(), parcels.end());
  stage.quota = std::min(stage.largest, most_in_flight / std::max<int64_t>(most, 1));
  stage.in_flight = stage.quota * most;
  return stage;
}

Redistribution::Redistribution(const Layout& from, const Layout& to, int64_t most_in_flight) {
  std::vector<Layout> layouts{from};
  for (Layout& next : Stages(from, to)) {
    const std::vector<Transfer> transfers = Transfers(layouts.back(), next);
    if (MovesNothing(layouts.back(), next, transfers)) continue;
    stages_.push_back(StageOf(layouts.back(), next, transfers, most_in_flight));
    in_flight_ = std::max(in_flight_, stages_.back().in_flight);
    layouts.push_back(std::move(next));
  }
  received_ = MaxReceived(from, to);
  kernels::Require(stages_.size() <= 2, "An array changes its layout in two stages.");
  if (stages_.size() == 2) room_ = stages_[0].count;
}

/// The arguments of a stage.
template <typename Dtype>
struct Redistribution::Call {
  const DeviceContext& context;
  layrub::Communicator* communicator;
  const Dtype* x;
  Dtype* y;
  Dtype* buffers;
  int receiver;
};

template <typename Dtype>
void Redistribution::Run(const DeviceContext& context, layrub::Communicator* communicator,
                         const Dtype* x, Dtype* y, Dtype* workspace, int receiver) const {
  kernels::Require(receiver < 0 || stages_.size() <= 1, "Only one stage can have one receiver.");
  for (const Stage& stage : stages_) {
    Dtype* const out = &stage == &stages_.back() ? y : workspace;
    const bool receives = receiver < 0 || receiver == communicator->rank();
    if (stage.adds && receives) kernels::Fill(context, stage.count, Dtype(0), out);
    const Call<Dtype> call{context, communicator, x, out, workspace + room_, receiver};
    for (int64_t begin = 0; begin < stage.largest; begin += stage.quota)
      RunRound(call, stage, begin);
    x = out;
  }
}

/// Exchanges the numbers [begin, begin + quota) of each part. Those that are added up come from
/// equal boxes, so that each round adds the same ones.
template <typename Dtype>
void Redistribution::RunRound(const Call<Dtype>& call, const Stage& stage, int64_t begin) const {
  const int rank = call.communicator->rank();
  const auto wanted = [&](const Part& part) {
    return begin < part.count && (call.receiver < 0 || call.receiver == part.to);
  };
  const auto end = [&](const Part& part) { return std::min(part.count, begin + stage.quota); };
  std::vector<Parcel> sent, received;
  Dtype* buffer = call.buffers;
  for (const Part& part : stage.parts) {
    if (!wanted(part) || part.from == part.to || (part.from != rank && part.to != rank)) continue;
    const bool sends = part.from == rank;
    (sends ? sent : received)
        .push_back({sends ? part.to : part.from, layrub::ValuesOf(buffer, end(part) - begin)});
    if (sends) {
      ForEachBox(part.boxes, begin, end(part),
                 [&](const BoxPair& boxes, int64_t first, int64_t last, int64_t at) {
                   kernels::PackBox(call.context, boxes, first, last, call.x, buffer + at);
                 });
    }
    buffer += stage.quota;
  }
  ExchangeOn(call.context, call.communicator, sent, received);
  auto arrived = received.begin();
  for (const Part& part : stage.parts) {
    if (!wanted(part) || part.to != rank) continue;
    const auto* const packed =
        part.from == rank ? nullptr : static_cast<const Dtype*>((arrived++)->values.first);
    ForEachBox(part.boxes, begin, end(part),
               [&](const BoxPair& boxes, int64_t first, int64_t last, int64_t at) {
                 if (packed == nullptr) {
                   kernels::MoveBox(call.context, boxes, first, last, call.x, stage.adds, call.y);
                 } else {
                   kernels::UnpackBox(call.context, boxes, first, last, packed + at, stage.adds,
                                      call.y);
                 }
               });
  }
}

template void Redistribution::Run(const DeviceContext&, layrub::Communicator*, const float*, float*,
                                  float*, int) const;
template void Redistribution::Run(const DeviceContext&, layrub::Communicator*, const double*,
                                  double*, double*, int) const;

}  // namespace caffe
