#ifndef CAFFE_KERNELS_SHAPE_ROWS_HPP_
#define CAFFE_KERNELS_SHAPE_ROWS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

// Rows of `width` values that are chosen from a table of `table_rows` rows by index[0 .. rows),
// numbers of rows. An index of -1 and below, of table_rows and above, or not a number names no row;
// others are rounded towards zero.

/// to[i] = table[index[i]]; not a number where the index names no row.
template <typename Dtype>
void GatherRows(const DeviceContext& context, int64_t rows, int64_t width, int64_t table_rows,
                const Dtype* index, const Dtype* table, Dtype* to);

/// table[index[i]] += from[i] for i = 0, 1, ..., in this order on every device; an index that names
/// no row is left out.
template <typename Dtype>
void AddRows(const DeviceContext& context, int64_t rows, int64_t width, int64_t table_rows,
             const Dtype* index, const Dtype* from, Dtype* table);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SHAPE_ROWS_HPP_
