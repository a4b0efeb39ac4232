#include "mpi_values.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace layrub {
namespace {

constexpr int64_t kPieceBytes = int64_t{4} << 20;  ///< bytes that are exchanged at a time

enum Tag : int { kPart = 1, kSummed };

template <typename Number>
MPI_Datatype TypeOf() {
  return sizeof(Number) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
}

/// Equal for tasks that match, and almost never for others.
uint64_t Fingerprint(const MpiTask& task) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto add = [&hash](uint64_t number) { hash = (hash ^ number) * 1099511628211u; };
  add(static_cast<uint64_t>(task.kind));
  for (const Values& values : task.values) {
    add(static_cast<uint64_t>(values.count));
    add(static_cast<uint64_t>(values.element));
  }
  return hash;
}

}  // namespace

MpiValues::MpiValues(Await await) : await_(std::move(await)) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

void MpiValues::Do(const MpiTask& task, Device* device) {
  device_ = device;
  CheckTasksMatch(task);
  // Neighbouring values of the same element type are exchanged together.
  const auto& values = task.values;
  for (auto begin = values.begin(); begin != values.end();) {
    const auto end = std::find_if(
        begin, values.end(), [&](const Values& each) { return each.element != begin->element; });
    const std::vector<Values> alike(begin, end);
    begin->element == Element::kFloat ? DoSameElement<float>(task.kind, alike)
                                      : DoSameElement<double>(task.kind, alike);
    begin = end;
  }
}

void MpiValues::CheckTasksMatch(const MpiTask& task) {
  const uint64_t mine = Fingerprint(task);
  std::vector<uint64_t> all(static_cast<size_t>(size_));
  requests_.resize(1);
  MPI_Iallgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm_, requests_.data());
  await_(&requests_, false);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw GroupFailed("members 0 and " + std::to_string(rank) +
                      " of a group exchange different values: their nets differ");
  }
}

/// Cuts the values into pieces, in the same way in all members. A piece is a range of a large
/// tensor, or many small tensors together.
template <typename Number>
void MpiValues::DoSameElement(MpiTask::Kind kind, const std::vector<Values>& values) {
  const int64_t most = kPieceBytes / static_cast<int64_t>(sizeof(Number));
  std::vector<Segment<Number>> small;
  int64_t filled = 0;
  const auto flush = [&] {
    if (filled > 0) DoPiece(kind, small, filled);
    small.clear();
    filled = 0;
  };
  for (const Values& each : values) {
    auto* const first = static_cast<Number*>(each.first);
    if (each.count > most / 16) {
      for (int64_t offset = 0; offset < each.count; offset += most) {
        const int64_t n = std::min(each.count - offset, most);
        DoPiece<Number>(kind, {{first + offset, n}}, n);
      }
      continue;
    }
    if (filled + each.count > most) flush();
    small.push_back({first, each.count});
    filled += each.count;
  }
  flush();
}

template <typename Number>
void MpiValues::DoPiece(MpiTask::Kind kind, const std::vector<Segment<Number>>& piece,
                        int64_t count) {
  if (piece.size() == 1 && device_ == nullptr) return Exchange(kind, piece[0].first, count);
  // Gathers the segments one after the other in host memory.
  const size_t bytes = static_cast<size_t>(count) * sizeof(Number);
  if (gathered_.size() < bytes) gathered_.resize(bytes);
  auto* const numbers = reinterpret_cast<Number*>(gathered_.data());
  Number* at = numbers;
  for (const Segment<Number>& segment : piece) {
    Copy(at, segment.first, segment.count * static_cast<int64_t>(sizeof(Number)));
    at += segment.count;
  }
  Exchange(kind, numbers, count);
  at = numbers;
  for (const Segment<Number>& segment : piece) {
    Copy(segment.first, at, segment.count * static_cast<int64_t>(sizeof(Number)));
    at += segment.count;
  }
}

void MpiValues::Copy(void* to, const void* from, int64_t bytes) const {
  if (device_ != nullptr) {
    device_->CopyConcurrently(to, from, bytes);
  } else {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

template <typename Number>
void MpiValues::Exchange(MpiTask::Kind kind, Number* numbers, int64_t count) {
  if (kind == MpiTask::Kind::kSum) return SumPiece(numbers, count);
  requests_.resize(1);
  MPI_Ibcast(numbers, static_cast<int>(count), TypeOf<Number>(), 0, comm_, requests_.data());
  AwaitRequests();
}

/// Each member sums one part and sends the result to all others. This sends the fewest bytes
/// possible.
template <typename Number>
void MpiValues::SumPiece(Number* numbers, int64_t count) {
  const int64_t part = (count + size_ - 1) / size_;
  const auto begin = [&](int rank) { return std::min(count, rank * part); };
  const auto length = [&](int rank) { return begin(rank + 1) - begin(rank); };
  const int64_t mine = length(rank_);
  const size_t bytes = static_cast<size_t>(part * size_) * sizeof(Number);
  if (parts_.size() < bytes) parts_.resize(bytes);
  auto* const received = reinterpret_cast<Number*>(parts_.data());
  const MPI_Datatype type = TypeOf<Number>();
  requests_.clear();
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    MPI_Irecv(received + other * part, static_cast<int>(mine), type, other, kPart, comm_,
              &requests_.emplace_back());
    MPI_Isend(numbers + begin(other), static_cast<int>(length(other)), type, other, kPart, comm_,
              &requests_.emplace_back());
  }
  AwaitRequests();
  AddInOrder(received, part, numbers + begin(rank_), mine);
  requests_.clear();
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    MPI_Irecv(numbers + begin(other), static_cast<int>(length(other)), type, other, kSummed, comm_,
              &requests_.emplace_back());
    MPI_Isend(numbers + begin(rank_), static_cast<int>(mine), type, other, kSummed, comm_,
              &requests_.emplace_back());
  }
  AwaitRequests();
}

/// Adds the addends of all members in the order of ranks. `sum` holds those of this member and
/// receives the result; `received` holds those of member r from r * part on.
template <typename Number>
void MpiValues::AddInOrder(const Number* received, int64_t part, Number* sum, int64_t count) const {
  constexpr int64_t kBlock = 2048;
  Number total[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
    const auto addends = [&](int rank) {
      return (rank == rank_ ? sum : received + rank * part) + at;
    };
    std::copy_n(addends(0), n, total);
    for (int rank = 1; rank < size_; ++rank) {
      const Number* const next = addends(rank);
      for (int64_t i = 0; i < n; ++i) total[i] += next[i];
    }
    std::copy_n(total, n, sum + at);
  }
}

}  // namespace layrub
