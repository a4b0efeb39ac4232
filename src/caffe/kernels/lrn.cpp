#include "caffe/kernels/lrn.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

namespace {

/// How many rows of one kind are needed at the same time.
int WindowRows(const LrnGrid& grid) { return std::min(2 * grid.length_pad + 1, grid.length); }

/// The most recent `slots` rows of a sequence: row r lies in slot r % slots.
template <typename Dtype>
struct RowRing {
  Dtype* base;
  int64_t width;
  int slots;
  LAYRUB_HOST_DEVICE Dtype* Row(int r) const { return base + r % slots * width; }
};

/// Where one grid's rows are kept in its part of the workspace, one behind the other.
template <typename Dtype>
struct LrnRows {
  RowRing<Dtype> squares;  ///< sums of squares along a row's windows
  Dtype* values;           ///< one row, before it is summed along
  Dtype* sums;             ///< one row, summed over whole windows
  RowRing<Dtype> factors;  ///< s ^ -beta; backward only, as is `terms`
  RowRing<Dtype> terms;    ///< dy * x * s ^ (-beta - 1), summed along a row's windows

  LAYRUB_HOST_DEVICE LrnRows(Dtype* scratch, int64_t width, int slots)
      : squares{scratch, width, slots},
        values(scratch + slots * width),
        sums(values + width),
        factors{sums + width, width, slots},
        terms{factors.base + slots * width, width, slots} {}
};

/// The columns [begin, end) that one item works on; with a window wider than one column, all.
struct Columns {
  int begin;
  int end;
  int pad;
};

template <typename Dtype>
LAYRUB_HOST_DEVICE inline Dtype InversePower(Dtype s, Dtype beta) {
  if (beta == Dtype(0.75)) {  // usual, and pow is slow
    const Dtype root = std::sqrt(s);
    return 1 / (root * std::sqrt(root));
  }
  return std::pow(s, -beta);
}

/// sums[i] = the sum of `values` in the window around column i.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline void SumAlongRow(const Columns& columns, const Dtype* values,
                                           Dtype* sums) {
  for (int i = columns.begin; i < columns.end; ++i) {
    const int from = i - columns.pad < columns.begin ? columns.begin : i - columns.pad;
    const int to = i + columns.pad < columns.end ? i + columns.pad : columns.end - 1;
    Dtype sum = 0;
    for (int j = from; j <= to; ++j) sum += values[j];
    sums[i] = sum;
  }
}

/// sums = the rows of `ring` in the window around row r, added up.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline void SumRows(const LrnGrid& grid, const Columns& columns,
                                       const RowRing<Dtype>& ring, int r, Dtype* sums) {
  const int from = r < grid.length_pad ? 0 : r - grid.length_pad;
  const int to = grid.length - 1 - r < grid.length_pad ? grid.length - 1 : r + grid.length_pad;
  for (int i = columns.begin; i < columns.end; ++i) sums[i] = 0;
  for (int row = from; row <= to; ++row) {
    const Dtype* values = ring.Row(row);
    for (int i = columns.begin; i < columns.end; ++i) sums[i] += values[i];
  }
}

template <typename Dtype>
LAYRUB_HOST_DEVICE inline void PutSquares(const Columns& columns, const LrnRows<Dtype>& rows, int r,
                                          const Dtype* x) {
  for (int i = columns.begin; i < columns.end; ++i) rows.values[i] = x[i] * x[i];
  SumAlongRow(columns, rows.values, rows.squares.Row(r));
}

// Rows enter one after the other; a row leaves when all of its window has entered, and has been
// read for the last time then, so that outputs may lie on inputs.

template <typename Dtype>
LAYRUB_HOST_DEVICE inline void GridForward(const LrnGrid& grid, const Columns& columns,
                                           const LrnFunction<Dtype>& f, const LrnRows<Dtype>& rows,
                                           const Dtype* x, Dtype* y, Dtype* copy) {
  for (int enter = 0; enter < grid.length + grid.length_pad; ++enter) {
    if (enter < grid.length) PutSquares(columns, rows, enter, x + int64_t{enter} * grid.width);
    const int r = enter - grid.length_pad;
    if (r < 0) continue;
    SumRows(grid, columns, rows.squares, r, rows.sums);
    const int64_t at = int64_t{r} * grid.width;
    for (int i = columns.begin; i < columns.end; ++i) {
      const Dtype value = x[at + i];
      if (copy != nullptr) copy[at + i] = value;
      y[at + i] = value * InversePower(f.k + f.alpha * rows.sums[i], f.beta);
    }
  }
}

/// Row r's factors and terms, from its sums of squares.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline void PutTerms(const LrnGrid& grid, const Columns& columns,
                                        const LrnFunction<Dtype>& f, const LrnRows<Dtype>& rows,
                                        int r, const Dtype* x, const Dtype* dy) {
  SumRows(grid, columns, rows.squares, r, rows.sums);
  Dtype* factors = rows.factors.Row(r);
  for (int i = columns.begin; i < columns.end; ++i) {
    const Dtype s = f.k + f.alpha * rows.sums[i];
    factors[i] = InversePower(s, f.beta);
    rows.values[i] = dy[i] * x[i] * factors[i] / s;
  }
  SumAlongRow(columns, rows.values, rows.terms.Row(r));
}

template <typename Dtype>
LAYRUB_HOST_DEVICE inline void GridBackward(const LrnGrid& grid, const Columns& columns,
                                            const LrnFunction<Dtype>& f, const LrnRows<Dtype>& rows,
                                            const Dtype* x, const Dtype* dy, Dtype* dx) {
  const Dtype slope = 2 * f.alpha * f.beta;
  for (int enter = 0; enter < grid.length + 2 * grid.length_pad; ++enter) {
    if (enter < grid.length) PutSquares(columns, rows, enter, x + int64_t{enter} * grid.width);
    const int middle = enter - grid.length_pad;
    if (middle >= 0 && middle < grid.length) {
      const int64_t at = int64_t{middle} * grid.width;
      PutTerms(grid, columns, f, rows, middle, x + at, dy + at);
    }
    const int leave = middle - grid.length_pad;
    if (leave < 0) continue;
    SumRows(grid, columns, rows.terms, leave, rows.sums);
    const Dtype* factors = rows.factors.Row(leave);
    const int64_t at = int64_t{leave} * grid.width;
    for (int i = columns.begin; i < columns.end; ++i) {
      dx[at + i] = dy[at + i] * factors[i] - slope * x[at + i] * rows.sums[i];
    }
  }
}

/// body(grid number, columns) for all columns of all grids.
template <typename Body>
void ForColumns(const DeviceContext& context, const LrnGrid& grid, Body body) {
  const int width = grid.width, pad = grid.width_pad;
  const int64_t cost = int64_t{grid.length} * width;
  if (pad == 0) {
    ParallelForSegments(context, grid.outer, width, cost,
                        [=] LAYRUB_HOST_DEVICE(int64_t outer, int begin, int end) {
                          body(outer, Columns{begin, end, 0});
                        });
  } else {
    ParallelForHeavy(context, grid.outer, cost, [=] LAYRUB_HOST_DEVICE(int64_t outer) {
      body(outer, Columns{0, width, pad});
    });
  }
}

}  // namespace

int64_t LrnForwardScratch(const LrnGrid& grid) {
  return grid.outer * grid.width * (WindowRows(grid) + 2);
}

int64_t LrnBackwardScratch(const LrnGrid& grid) {
  return grid.outer * grid.width * (3 * WindowRows(grid) + 2);
}

template <typename Dtype>
void LrnForward(const DeviceContext& context, const LrnGrid& grid,
                const LrnFunction<Dtype>& function, const Dtype* x, Dtype* y, Dtype* copy,
                Dtype* scratch) {
  const LrnGrid g = grid;
  const LrnFunction<Dtype> f = function;
  const int slots = WindowRows(grid);
  ForColumns(context, grid, [=] LAYRUB_HOST_DEVICE(int64_t outer, const Columns& columns) {
    const LrnRows<Dtype> rows(scratch + outer * (slots + 2) * g.width, g.width, slots);
    const int64_t at = outer * g.length * g.width;
    GridForward(g, columns, f, rows, x + at, y + at, copy == nullptr ? nullptr : copy + at);
  });
}

template <typename Dtype>
void LrnBackward(const DeviceContext& context, const LrnGrid& grid,
                 const LrnFunction<Dtype>& function, const Dtype* x, const Dtype* dy, Dtype* dx,
                 Dtype* scratch) {
  const LrnGrid g = grid;
  const LrnFunction<Dtype> f = function;
  const int slots = WindowRows(grid);
  ForColumns(context, grid, [=] LAYRUB_HOST_DEVICE(int64_t outer, const Columns& columns) {
    const LrnRows<Dtype> rows(scratch + outer * (3 * slots + 2) * g.width, g.width, slots);
    const int64_t at = outer * g.length * g.width;
    GridBackward(g, columns, f, rows, x + at, dy + at, dx + at);
  });
}

#define INSTANTIATE(Dtype)                                                                         \
  template void LrnForward<Dtype>(const DeviceContext&, const LrnGrid&, const LrnFunction<Dtype>&, \
                                  const Dtype*, Dtype*, Dtype*, Dtype*);                           \
  template void LrnBackward<Dtype>(const DeviceContext&, const LrnGrid&,                           \
                                   const LrnFunction<Dtype>&, const Dtype*, const Dtype*, Dtype*,  \
                                   Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
