#include "caffe/kernels/norm/lrn.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "caffe/kernels/library_kernels.hpp"
#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/require.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/kernels/teams.hpp"

namespace caffe {
namespace kernels {

namespace {

/// Number of rows of one kind that are needed at the same time.
int WindowRows(const LrnGrid& grid) { return std::min(2 * grid.length_pad + 1, grid.length); }

/// The last `slots` rows of a sequence: row r is in slot r % slots.
template <typename Dtype>
struct RowRing {
  Dtype* base;
  int64_t width;
  int slots;
  LAYRUB_HOST_DEVICE Dtype* Row(int r) const { return base + r % slots * width; }
};

/// The layout of one grid's part of the workspace.
template <typename Dtype>
struct LrnRows {
  RowRing<Dtype> squares;  ///< sums of squares along a row's windows
  Dtype* values;           ///< one row, before SumAlongRow
  Dtype* sums;             ///< one row of sums over whole windows
  RowRing<Dtype> factors;  ///< s ^ -beta; like `terms`, for backward only
  RowRing<Dtype> terms;    ///< dy * x * s ^ (-beta - 1), summed along a row's windows

  LAYRUB_HOST_DEVICE LrnRows(Dtype* workspace, int64_t width, int slots)
      : squares{workspace, width, slots},
        values(workspace + slots * width),
        sums(values + width),
        factors{sums + width, width, slots},
        terms{factors.base + slots * width, width, slots} {}
};

// The columns of a row that one thread handles: first(), first() + step(), ... below `end`. Windows
// along the row extend `pad` columns to both sides, clipped to [begin, end).

/// All of [begin, end).
struct Segment {
  LAYRUB_HOST_DEVICE int first() const { return begin; }
  LAYRUB_HOST_DEVICE int step() const { return 1; }
  LAYRUB_HOST_DEVICE void Sync() const {}
  int begin, end, pad;
};

/// One thread's share of the columns [begin, end), which a team handles together.
struct PartOfTeam {
  LAYRUB_HOST_DEVICE int first() const { return static_cast<int>(team.first); }
  LAYRUB_HOST_DEVICE int step() const { return static_cast<int>(team.step); }
  LAYRUB_HOST_DEVICE void Sync() const { team.Sync(); }
  Team team;
  int begin, end, pad;
};

template <typename Dtype>
LAYRUB_HOST_DEVICE inline Dtype InversePower(Dtype s, Dtype beta) {
  if (beta == Dtype(0.75)) {  // the common value; pow is slow
    const Dtype root = std::sqrt(s);
    return 1 / (root * std::sqrt(root));
  }
  return std::pow(s, -beta);
}

/// sums[i] = the sum of `values` in the window around column i.
template <typename Columns, typename Dtype>
LAYRUB_HOST_DEVICE inline void SumAlongRow(const Columns& columns, const Dtype* values,
                                           Dtype* sums) {
  columns.Sync();  // all `values` have been written
  for (int i = columns.first(); i < columns.end; i += columns.step()) {
    const int from = i - columns.pad < columns.begin ? columns.begin : i - columns.pad;
    const int to = i + columns.pad < columns.end ? i + columns.pad : columns.end - 1;
    Dtype sum = 0;
    for (int j = from; j <= to; ++j) sum += values[j];
    sums[i] = sum;
  }
  columns.Sync();  // all `values` have been read
}

/// sums = the sum of the rows of `ring` in the window around row r.
template <typename Columns, typename Dtype>
LAYRUB_HOST_DEVICE inline void SumRows(const LrnGrid& grid, const Columns& columns,
                                       const RowRing<Dtype>& ring, int r, Dtype* sums) {
  const int from = r < grid.length_pad ? 0 : r - grid.length_pad;
  const int to = grid.length - 1 - r < grid.length_pad ? grid.length - 1 : r + grid.length_pad;
  if (columns.step() > 1 || columns.end - columns.begin == 1) {  // on a GPU: sums in a register
    for (int i = columns.first(); i < columns.end; i += columns.step()) {
      Dtype sum = 0;
      for (int row = from; row <= to; ++row) sum += ring.Row(row)[i];
      sums[i] = sum;
    }
    return;
  }
  for (int i = columns.first(); i < columns.end; i += columns.step()) sums[i] = 0;
  for (int row = from; row <= to; ++row) {
    const Dtype* values = ring.Row(row);
    for (int i = columns.first(); i < columns.end; i += columns.step()) sums[i] += values[i];
  }
}

template <typename Columns, typename Dtype>
LAYRUB_HOST_DEVICE inline void PutSquares(const Columns& columns, const LrnRows<Dtype>& rows, int r,
                                          const Dtype* x) {
  for (int i = columns.first(); i < columns.end; i += columns.step()) rows.values[i] = x[i] * x[i];
  SumAlongRow(columns, rows.values, rows.squares.Row(r));
}

// Rows are read one after the other. A row's output is written when its whole window has been read;
// the row is not read again after that, so outputs may alias inputs.

template <typename Columns, typename Dtype>
LAYRUB_HOST_DEVICE inline void GridForward(const LrnGrid& grid, const Columns& columns,
                                           const LrnFunction<Dtype>& f, const LrnRows<Dtype>& rows,
                                           const Dtype* x, Dtype* y, Dtype* copy) {
  for (int enter = 0; enter < grid.length + grid.length_pad; ++enter) {
    if (enter < grid.length) PutSquares(columns, rows, enter, x + int64_t{enter} * grid.width);
    const int r = enter - grid.length_pad;
    if (r < 0) continue;
    SumRows(grid, columns, rows.squares, r, rows.sums);
    const int64_t at = int64_t{r} * grid.width;
    for (int i = columns.first(); i < columns.end; i += columns.step()) {
      const Dtype value = x[at + i];
      if (copy != nullptr) copy[at + i] = value;
      y[at + i] = value * InversePower(f.k + f.alpha * rows.sums[i], f.beta);
    }
  }
}

/// Computes row r's factors and terms from its sums of squares.
template <typename Columns, typename Dtype>
LAYRUB_HOST_DEVICE inline void PutTerms(const LrnGrid& grid, const Columns& columns,
                                        const LrnFunction<Dtype>& f, const LrnRows<Dtype>& rows,
                                        int r, const Dtype* x, const Dtype* dy) {
  SumRows(grid, columns, rows.squares, r, rows.sums);
  Dtype* factors = rows.factors.Row(r);
  for (int i = columns.first(); i < columns.end; i += columns.step()) {
    const Dtype s = f.k + f.alpha * rows.sums[i];
    factors[i] = InversePower(s, f.beta);
    rows.values[i] = dy[i] * x[i] * factors[i] / s;
  }
  SumAlongRow(columns, rows.values, rows.terms.Row(r));
}

template <typename Columns, typename Dtype>
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
    for (int i = columns.first(); i < columns.end; i += columns.step()) {
      dx[at + i] = dy[at + i] * factors[i] - slope * x[at + i] * rows.sums[i];
    }
  }
}

/// Calls GridForward (or, below, GridBackward) for grid `outer`.
template <typename Dtype>
struct Forward {
  template <typename Columns>
  LAYRUB_HOST_DEVICE void operator()(int64_t outer, const Columns& columns) const {
    const LrnRows<Dtype> rows(room + outer * (slots + 2) * grid.width, grid.width, slots);
    const int64_t at = outer * grid.length * grid.width;
    GridForward(grid, columns, f, rows, x + at, y + at, copy == nullptr ? nullptr : copy + at);
  }
  LrnGrid grid;
  LrnFunction<Dtype> f;
  int slots;
  Dtype* room;
  const Dtype* x;
  Dtype *y, *copy;
};
template <typename Dtype>
struct Backward {
  template <typename Columns>
  LAYRUB_HOST_DEVICE void operator()(int64_t outer, const Columns& columns) const {
    const LrnRows<Dtype> rows(room + outer * (3 * slots + 2) * grid.width, grid.width, slots);
    const int64_t at = outer * grid.length * grid.width;
    GridBackward(grid, columns, f, rows, x + at, dy + at, dx + at);
  }
  LrnGrid grid;
  LrnFunction<Dtype> f;
  int slots;
  Dtype* room;
  const Dtype *x, *dy;
  Dtype* dx;
};

/// Calls body(grid number, columns) for all columns of all grids.
template <typename Body>
void ForColumns(const DeviceContext& context, const LrnGrid& grid, Body body) {
  const int width = grid.width, pad = grid.width_pad;
  const int64_t cost = int64_t{grid.length} * width;
  if (pad == 0) {
    ParallelForSegments(context, grid.outer, width, cost,
                        [=] LAYRUB_HOST_DEVICE(int64_t outer, int begin, int end) {
                          body(outer, Segment{begin, end, 0});
                        });
    return;
  }
  // Each thread of a team handles single columns, so on a GPU `width` threads are enough.
  const int64_t length = context.launch ? std::max<int64_t>(width, kTeamLength) : cost;
  ParallelTeams(context, grid.outer, length, false,
                [=] LAYRUB_HOST_DEVICE(int64_t outer, const Team& team) {
                  if (team.step == 1) {
                    body(outer, Segment{0, width, pad});
                  } else {
                    body(outer, PartOfTeam{team, 0, width, pad});
                  }
                });
}

/// Everything that the times depend on, as text.
template <typename Dtype>
std::string NameOf(const LrnGrid& grid, const LrnFunction<Dtype>& function) {
  std::ostringstream name;
  name << grid.outer << "x" << grid.length << "x" << grid.width << " window "
       << 2 * grid.length_pad + 1 << "x" << 2 * grid.width_pad + 1 << " alpha " << function.alpha
       << " beta " << function.beta << " k " << function.k;
  return name.str();
}

/// Recomputes y, because the library needs it and it was not kept. Returns false if the library
/// cannot do it.
template <typename Dtype>
bool BackwardByLibrary(const DeviceContext& context, const LrnGrid& grid,
                       const LrnFunction<Dtype>& function, const Dtype* x, const Dtype* dy,
                       Dtype* dx, const AlgorithmRun& chosen) {
  const int64_t n = grid.count();
  Dtype* const y = static_cast<Dtype*>(chosen.memory);
  Dtype* const apart = dx == x || dx == dy ? y + n : dx;
  if (!LibraryLrnForward(grid, function, x, y) ||
      !LibraryLrnBackward(grid, function, x, y, dy, apart))
    return false;
  Copy(context, n, apart, dx);
  return true;
}

}  // namespace

int64_t LrnForwardWorkspace(const LrnGrid& grid) {
  return grid.outer * grid.width * (WindowRows(grid) + 2);
}

int64_t LrnBackwardWorkspace(const LrnGrid& grid) {
  return grid.outer * grid.width * (3 * WindowRows(grid) + 2);
}

template <typename Dtype>
std::vector<Algorithm> LrnForwardEngines(const DeviceContext& context, const LrnGrid& grid,
                                         const LrnFunction<Dtype>& function) {
  const int64_t value = sizeof(Dtype), n = grid.count();
  Rivals<Dtype> rivals{"lrn forward " + NameOf(grid, function),
                       value * LrnForwardWorkspace(grid),
                       value * n,
                       {n, n},
                       {}};
  rivals.run = [&](const AlgorithmRun& chosen, const std::vector<Dtype*>& operands) {
    if (chosen.algorithm == kCudnn)
      return LibraryLrnForward<Dtype>(grid, function, operands[0], operands[1]);
    LrnForward<Dtype>(context, grid, function, operands[0], operands[1], nullptr, chosen);
    return true;
  };
  return ChooseRival(context, rivals);
}

template <typename Dtype>
std::vector<Algorithm> LrnBackwardEngines(const DeviceContext& context, const LrnGrid& grid,
                                          const LrnFunction<Dtype>& function) {
  const int64_t value = sizeof(Dtype), n = grid.count();
  Rivals<Dtype> rivals{"lrn backward " + NameOf(grid, function),
                       value * LrnBackwardWorkspace(grid),
                       2 * value * n,
                       {n, n, n},
                       {}};
  rivals.run = [&](const AlgorithmRun& chosen, const std::vector<Dtype*>& operands) {
    if (chosen.algorithm == kCudnn)
      return BackwardByLibrary<Dtype>(context, grid, function, operands[0], operands[1],
                                      operands[2], chosen);
    LrnBackward<Dtype>(context, grid, function, operands[0], operands[1], operands[2], chosen);
    return true;
  };
  return ChooseRival(context, rivals);
}

template <typename Dtype>
void LrnForward(const DeviceContext& context, const LrnGrid& grid,
                const LrnFunction<Dtype>& function, const Dtype* x, Dtype* y, Dtype* copy,
                const AlgorithmRun& chosen) {
  if (chosen.algorithm == kCudnn) {
    if (copy != nullptr) Copy(context, grid.count(), x, copy);
    Dtype* const apart = x == y ? static_cast<Dtype*>(chosen.memory) : y;
    Require(LibraryLrnForward(grid, function, x, apart), "cuDNN has no such LRN");
    Copy(context, grid.count(), apart, y);
    return;
  }
  ForColumns(context, grid,
             Forward<Dtype>{grid, function, WindowRows(grid), static_cast<Dtype*>(chosen.memory), x,
                            y, copy});
}

template <typename Dtype>
void LrnBackward(const DeviceContext& context, const LrnGrid& grid,
                 const LrnFunction<Dtype>& function, const Dtype* x, const Dtype* dy, Dtype* dx,
                 const AlgorithmRun& chosen) {
  if (chosen.algorithm == kCudnn) {
    Require(BackwardByLibrary(context, grid, function, x, dy, dx, chosen), "cuDNN has no such LRN");
    return;
  }
  ForColumns(context, grid,
             Backward<Dtype>{grid, function, WindowRows(grid), static_cast<Dtype*>(chosen.memory),
                             x, dy, dx});
}

#define INSTANTIATE(Dtype)                                                                         \
  template std::vector<Algorithm> LrnForwardEngines(const DeviceContext&, const LrnGrid&,          \
                                                    const LrnFunction<Dtype>&);                    \
  template std::vector<Algorithm> LrnBackwardEngines(const DeviceContext&, const LrnGrid&,         \
                                                     const LrnFunction<Dtype>&);                   \
  template void LrnForward<Dtype>(const DeviceContext&, const LrnGrid&, const LrnFunction<Dtype>&, \
                                  const Dtype*, Dtype*, Dtype*, const AlgorithmRun&);              \
  template void LrnBackward<Dtype>(const DeviceContext&, const LrnGrid&,                           \
                                   const LrnFunction<Dtype>&, const Dtype*, const Dtype*, Dtype*,  \
                                   const AlgorithmRun&);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
