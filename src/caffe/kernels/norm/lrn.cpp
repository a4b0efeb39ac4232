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

// The columns of a row that one thread works on: first(), first() + step(), ... below `end`. `pad`:
// windows along the row are as much wider to both sides, and within [begin, end).

/// All of [begin, end).
struct Segment {
  LAYRUB_HOST_DEVICE int first() const { return begin; }
  LAYRUB_HOST_DEVICE int step() const { return 1; }
  LAYRUB_HOST_DEVICE void Sync() const {}
  int begin, end, pad;
};

/// The part of one thread of a team that has them all.
struct PartOfTeam {
  LAYRUB_HOST_DEVICE int first() const { return static_cast<int>(team.first); }
  LAYRUB_HOST_DEVICE int step() const { return static_cast<int>(team.step); }
  LAYRUB_HOST_DEVICE void Sync() const { team.Sync(); }
  Team team;
  int begin, end, pad;
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
template <typename Columns, typename Dtype>
LAYRUB_HOST_DEVICE inline void SumAlongRow(const Columns& columns, const Dtype* values,
                                           Dtype* sums) {
  columns.Sync();  // all of `values` are there
  for (int i = columns.first(); i < columns.end; i += columns.step()) {
    const int from = i - columns.pad < columns.begin ? columns.begin : i - columns.pad;
    const int to = i + columns.pad < columns.end ? i + columns.pad : columns.end - 1;
    Dtype sum = 0;
    for (int j = from; j <= to; ++j) sum += values[j];
    sums[i] = sum;
  }
  columns.Sync();  // and have been read
}

/// sums = the rows of `ring` in the window around row r, added up.
template <typename Columns, typename Dtype>
LAYRUB_HOST_DEVICE inline void SumRows(const LrnGrid& grid, const Columns& columns,
                                       const RowRing<Dtype>& ring, int r, Dtype* sums) {
  const int from = r < grid.length_pad ? 0 : r - grid.length_pad;
  const int to = grid.length - 1 - r < grid.length_pad ? grid.length - 1 : r + grid.length_pad;
  if (columns.step() > 1 || columns.end - columns.begin == 1) {  // a GPU's: in a register
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

// Rows enter one after the other; a row leaves when all of its window has entered, and has been
// read for the last time then, so that outputs may lie on inputs.

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

/// Row r's factors and terms, from its sums of squares.
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

/// GridForward, and GridBackward, of grid number `outer`.
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

/// body(grid number, columns) for all columns of all grids.
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
  // The threads of a team have a column each: few of a GPU's are enough.
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

/// All that times depend on.
template <typename Dtype>
std::string NameOf(const LrnGrid& grid, const LrnFunction<Dtype>& function) {
  std::ostringstream name;
  name << grid.outer << "x" << grid.length << "x" << grid.width << " window "
       << 2 * grid.length_pad + 1 << "x" << 2 * grid.width_pad + 1 << " alpha " << function.alpha
       << " beta " << function.beta << " k " << function.k;
  return name.str();
}

/// The library wants y, which nobody has kept. False if it cannot do it.
template <typename Dtype>
bool BackwardByLibrary(const DeviceContext& context, const LrnGrid& grid,
                       const LrnFunction<Dtype>& function, const Dtype* x, const Dtype* dy,
                       Dtype* dx, const AlgorithmScratch& scratch) {
  const int64_t n = grid.count();
  Dtype* const y = static_cast<Dtype*>(scratch.memory);
  Dtype* const apart = dx == x || dx == dy ? y + n : dx;
  if (!LibraryLrnForward(grid, function, x, y) ||
      !LibraryLrnBackward(grid, function, x, y, dy, apart))
    return false;
  Copy(context, n, apart, dx);
  return true;
}

}  // namespace

int64_t LrnForwardScratch(const LrnGrid& grid) {
  return grid.outer * grid.width * (WindowRows(grid) + 2);
}

int64_t LrnBackwardScratch(const LrnGrid& grid) {
  return grid.outer * grid.width * (3 * WindowRows(grid) + 2);
}

template <typename Dtype>
std::vector<Workspace> LrnForwardEngines(const DeviceContext& context, const LrnGrid& grid,
                                         const LrnFunction<Dtype>& function) {
  const int64_t value = sizeof(Dtype), n = grid.count();
  Rivals<Dtype> rivals{"lrn forward " + NameOf(grid, function),
                       value * LrnForwardScratch(grid),
                       value * n,
                       {n, n},
                       {}};
  rivals.run = [&](const AlgorithmScratch& scratch, const std::vector<Dtype*>& operands) {
    if (scratch.algorithm == kCudnn)
      return LibraryLrnForward<Dtype>(grid, function, operands[0], operands[1]);
    LrnForward<Dtype>(context, grid, function, operands[0], operands[1], nullptr, scratch);
    return true;
  };
  return ChooseRival(context, rivals);
}

template <typename Dtype>
std::vector<Workspace> LrnBackwardEngines(const DeviceContext& context, const LrnGrid& grid,
                                          const LrnFunction<Dtype>& function) {
  const int64_t value = sizeof(Dtype), n = grid.count();
  Rivals<Dtype> rivals{"lrn backward " + NameOf(grid, function),
                       value * LrnBackwardScratch(grid),
                       2 * value * n,
                       {n, n, n},
                       {}};
  rivals.run = [&](const AlgorithmScratch& scratch, const std::vector<Dtype*>& operands) {
    if (scratch.algorithm == kCudnn)
      return BackwardByLibrary<Dtype>(context, grid, function, operands[0], operands[1],
                                      operands[2], scratch);
    LrnBackward<Dtype>(context, grid, function, operands[0], operands[1], operands[2], scratch);
    return true;
  };
  return ChooseRival(context, rivals);
}

template <typename Dtype>
void LrnForward(const DeviceContext& context, const LrnGrid& grid,
                const LrnFunction<Dtype>& function, const Dtype* x, Dtype* y, Dtype* copy,
                const AlgorithmScratch& scratch) {
  if (scratch.algorithm == kCudnn) {
    if (copy != nullptr) Copy(context, grid.count(), x, copy);
    Dtype* const apart = x == y ? static_cast<Dtype*>(scratch.memory) : y;
    Require(LibraryLrnForward(grid, function, x, apart), "cuDNN has no such LRN");
    Copy(context, grid.count(), apart, y);
    return;
  }
  ForColumns(context, grid,
             Forward<Dtype>{grid, function, WindowRows(grid), static_cast<Dtype*>(scratch.memory),
                            x, y, copy});
}

template <typename Dtype>
void LrnBackward(const DeviceContext& context, const LrnGrid& grid,
                 const LrnFunction<Dtype>& function, const Dtype* x, const Dtype* dy, Dtype* dx,
                 const AlgorithmScratch& scratch) {
  if (scratch.algorithm == kCudnn) {
    Require(BackwardByLibrary(context, grid, function, x, dy, dx, scratch),
            "cuDNN has no such LRN");
    return;
  }
  ForColumns(context, grid,
             Backward<Dtype>{grid, function, WindowRows(grid), static_cast<Dtype*>(scratch.memory),
                             x, dy, dx});
}

#define INSTANTIATE(Dtype)                                                                         \
  template std::vector<Workspace> LrnForwardEngines(const DeviceContext&, const LrnGrid&,          \
                                                    const LrnFunction<Dtype>&);                    \
  template std::vector<Workspace> LrnBackwardEngines(const DeviceContext&, const LrnGrid&,         \
                                                     const LrnFunction<Dtype>&);                   \
  template void LrnForward<Dtype>(const DeviceContext&, const LrnGrid&, const LrnFunction<Dtype>&, \
                                  const Dtype*, Dtype*, Dtype*, const AlgorithmScratch&);          \
  template void LrnBackward<Dtype>(const DeviceContext&, const LrnGrid&,                           \
                                   const LrnFunction<Dtype>&, const Dtype*, const Dtype*, Dtype*,  \
                                   const AlgorithmScratch&);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
