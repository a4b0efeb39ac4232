#ifndef CAFFE_UTIL_ROWS_HPP_
#define CAFFE_UTIL_ROWS_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "caffe/common.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// Calls row(from, to, count) for each run of `count` values of a transfer that is contiguous in
/// both arrays, in the order of both. `from` and `to` are indices into the two arrays.
template <typename Row>
void ForEachRow(const layrub::Transfer& transfer, const std::vector<int64_t>& from_dims,
                const std::vector<int64_t>& to_dims, const Row& row, size_t dim = 0,
                int64_t from = 0, int64_t to = 0) {
  if (dim == transfer.runs.size()) {
    row(from, to, int64_t{1});
    return;
  }
  // Dimensions that are transferred whole are merged into one row.
  const auto whole = [&](size_t d) {
    const std::vector<layrub::Run>& runs = transfer.runs[d];
    return runs.size() == 1 && runs[0].count == from_dims[d] && runs[0].count == to_dims[d];
  };
  size_t inner = dim + 1;
  while (inner < transfer.runs.size() && whole(inner)) ++inner;
  const bool last = inner == transfer.runs.size();
  int64_t from_stride = 1, to_stride = 1;
  for (size_t d = dim + 1; d < transfer.runs.size(); ++d) {
    from_stride *= from_dims[d];
    to_stride *= to_dims[d];
  }
  for (const layrub::Run& run : transfer.runs[dim]) {
    if (last) {
      row(from + run.from * from_stride, to + run.to * to_stride, run.count * from_stride);
      continue;
    }
    for (int64_t i = 0; i < run.count; ++i) {
      ForEachRow(transfer, from_dims, to_dims, row, dim + 1, from + (run.from + i) * from_stride,
                 to + (run.to + i) * to_stride);
    }
  }
}

/// Returns the transfer from the whole array to the part that device `rank` has in this layout.
inline layrub::Transfer PartOf(const layrub::Layout& layout, int rank) {
  CHECK_LT(rank, layout.devices()) << "layout: the net is for fewer devices.";
  layrub::Layout all = layout;
  for (layrub::Level& level : all.levels) level = layrub::Whole();
  layrub::Layout mine = layout;
  for (layrub::Level& level : mine.levels) {
    if (level.share != layrub::Share::kCut) level = layrub::Whole();
  }
  for (const layrub::Transfer& transfer : Transfers(all, mine)) {
    if (transfer.to == rank) return transfer;
  }
  return {};
}

/// Calls row(begin, own, count) for each row of values that device `rank` has. `begin` is the row's
/// index in the whole array, `own` its index in the device's part.
template <typename Row>
void ForEachOwnRow(const layrub::Layout& layout, int rank, const Row& row) {
  ForEachRow(PartOf(layout, rank), layout.dims, LocalDims(layout), row);
}

}  // namespace caffe

#endif  // CAFFE_UTIL_ROWS_HPP_
