#include "caffe/kernels/rows.hpp"

#include <limits>

#include "caffe/kernels/index_of.hpp"
#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void GatherRows(const DeviceContext& context, int64_t rows, int64_t width, int64_t table_rows,
                const Dtype* index, const Dtype* table, Dtype* to) {
  const Dtype nowhere = std::numeric_limits<Dtype>::quiet_NaN();
  ParallelForRows(context, rows, width, [=] LAYRUB_HOST_DEVICE(int64_t i, int64_t k) {
    const int64_t row = IndexOf(index[i], table_rows);
    to[i * width + k] = row < 0 ? nowhere : table[row * width + k];
  });
}

template <typename Dtype>
void AddRows(const DeviceContext& context, int64_t rows, int64_t width, int64_t table_rows,
             const Dtype* index, const Dtype* from, Dtype* table) {
  // A strip of columns belongs to one thread, which goes through the rows in order. Strips of the
  // CPU are a few cache lines wide.
  const int64_t strip = context.launch ? 1 : 64;
  ParallelForHeavy(context, (width + strip - 1) / strip, rows * strip,
                   [=] LAYRUB_HOST_DEVICE(int64_t s) {
                     const int64_t begin = s * strip;
                     const int64_t end = begin + strip < width ? begin + strip : width;
                     for (int64_t i = 0; i < rows; ++i) {
                       const int64_t row = IndexOf(index[i], table_rows);
                       if (row < 0) continue;
                       for (int64_t k = begin; k < end; ++k)
                         table[row * width + k] += from[i * width + k];
                     }
                   });
}

#define INSTANTIATE(Dtype)                                                                \
  template void GatherRows(const DeviceContext&, int64_t, int64_t, int64_t, const Dtype*, \
                           const Dtype*, Dtype*);                                         \
  template void AddRows(const DeviceContext&, int64_t, int64_t, int64_t, const Dtype*,    \
                        const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
