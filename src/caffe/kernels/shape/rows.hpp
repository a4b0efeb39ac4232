#ifndef CAFFE_KERNELS_SHAPE_ROWS_HPP_
#define CAFFE_KERNELS_SHAPE_ROWS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

// index[0 .. rows) selects rows of `width` values from a table of `table_rows` rows. An index is
// rounded towards zero. An index of -1 or below, of table_rows or above, or NaN names no row.

/// to[i] = table[index[i]]; NaN if the index names no row.
template <typename Dtype>
void GatherRows(const DeviceContext& context, int64_t rows, int64_t width, int64_t table_rows,
                const Dtype* index, const Dtype* table, Dtype* to);

/// table[index[i]] += from[i] for i = 0, 1, ..., in this order on every device; indices that name
/// no row are skipped.
template <typename Dtype>
void AddRows(const DeviceContext& context, int64_t rows, int64_t width, int64_t table_rows,
             const Dtype* index, const Dtype* from, Dtype* table);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SHAPE_ROWS_HPP_
