#include "caffe/kernels/shape/rows.hpp"

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

namespace {

/// AddRows for one column; `table` and `from` point to it. Reads several rows at once, so that a
/// GPU waits for memory once. If two of them add to the same row of the table, the later one
/// continues with the earlier one's sum.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline void AddColumn(int64_t rows, int64_t width, int64_t table_rows,
                                         const Dtype* index, const Dtype* from, Dtype* table) {
  constexpr int kRows = 8;
  for (int64_t begin = 0; begin < rows; begin += kRows) {
    int64_t row[kRows];
    Dtype value[kRows], sum[kRows];
    for (int k = 0; k < kRows; ++k) {
      const int64_t i = begin + k;
      row[k] = i < rows ? IndexOf(index[i], table_rows) : -1;
      value[k] = row[k] < 0 ? Dtype(0) : from[i * width];
      sum[k] = row[k] < 0 ? Dtype(0) : table[row[k] * width];
    }
    for (int k = 0; k < kRows; ++k) {
      for (int before = 0; before < k; ++before) {
        if (row[before] == row[k]) sum[k] = sum[before];
      }
      sum[k] += value[k];
    }
    for (int k = 0; k < kRows; ++k) {
      if (row[k] >= 0) table[row[k] * width] = sum[k];
    }
  }
}

}  // namespace

template <typename Dtype>
void AddRows(const DeviceContext& context, int64_t rows, int64_t width, int64_t table_rows,
             const Dtype* index, const Dtype* from, Dtype* table) {
  // Each strip of columns belongs to one thread, which adds the rows in order. On the CPU strips
  // are a few cache lines wide.
  const int64_t strip = context.launch ? 1 : 64;
  ParallelForHeavy(
      context, (width + strip - 1) / strip, rows * strip, [=] LAYRUB_HOST_DEVICE(int64_t s) {
        const int64_t begin = s * strip;
        const int64_t end = begin + strip < width ? begin + strip : width;
        if (end - begin == 1)
          return AddColumn(rows, width, table_rows, index, from + begin, table + begin);
        for (int64_t i = 0; i < rows; ++i) {
          const int64_t row = IndexOf(index[i], table_rows);
          if (row < 0) continue;
          for (int64_t k = begin; k < end; ++k) table[row * width + k] += from[i * width + k];
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
