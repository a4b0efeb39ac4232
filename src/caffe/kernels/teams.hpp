#ifndef CAFFE_KERNELS_TEAMS_HPP_
#define CAFFE_KERNELS_TEAMS_HPP_

// Loops over few, long items, each of which several threads of a GPU work on together.

#include <cstdint>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// Threads of a GPU that work together on an item, at least, and elements that are worth it. So few
/// on the CPU that small arrays have teams of several sizes.
#ifdef __CUDACC__
inline constexpr int kLeastTeam = 32, kTeamLength = 32;
#else
inline constexpr int kLeastTeam = 4, kTeamLength = 5;
#endif

/// The threads that work on one item, seen from one of them: it does elements first, first + step,
/// ... On the CPU, and where an item is no more than a thread's work, there is one: 0, 1, ...
struct Team {
  int64_t first = 0;
  int64_t step = 1;

  /// What threads of the team have written before it all may read after it. Every thread must call
  /// it.
  LAYRUB_HOST_DEVICE void Sync() const {
#if defined(__CUDA_ARCH__) || (LAYRUB_LAUNCHES && !defined(__CUDACC__))
    if (step > 1) __syncthreads();
#endif
  }

  /// The sum, or the greatest, of what all threads of the team bring, for all of them. The order
  /// depends on `step` alone. Every thread must call it.
  template <typename T>
  LAYRUB_HOST_DEVICE T Sum(T value) const {
    return Fold(value, [](T a, T b) { return a + b; });
  }
  template <typename T>
  LAYRUB_HOST_DEVICE T Max(T value) const {
    return Fold(value, [](T a, T b) { return b > a ? b : a; });
  }

 private:
  template <typename T, typename Combine>
  LAYRUB_HOST_DEVICE T Fold(T value, Combine combine) const {
#if defined(__CUDA_ARCH__) || (LAYRUB_LAUNCHES && !defined(__CUDACC__))
    if (step == 1) return value;
    __shared__ T partial[kBlock];
    __syncthreads();  // what was folded before has been read by all
    partial[threadIdx.x] = value;
    __syncthreads();
    for (auto half = static_cast<unsigned>(step / 2); half > 0; half /= 2) {
      if (threadIdx.x < half) {
        partial[threadIdx.x] = combine(partial[threadIdx.x], partial[threadIdx.x + half]);
      }
      __syncthreads();
    }
    return partial[0];
#else
    (void)combine;
    return value;
#endif
  }
};

#if LAYRUB_LAUNCHES
template <typename Body>
__global__ void __launch_bounds__(kBlock) TeamKernel(int64_t n, Body body) {
  const Team team{static_cast<int64_t>(threadIdx.x), static_cast<int64_t>(blockDim.x)};
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) body(i, team);
}
#endif

/// body(i, team) for every i in [0, n), of `length` elements each, in any order, possibly at the
/// same time. On a GPU a team has as many threads as the item has elements, or fewer: a power of
/// two, kLeastTeam at least and kBlock at most; `scattered`: elements of one item lie apart and
/// those of neighbouring items side by side, so that a GPU does better with a thread for each item.
template <typename Body>
void ParallelTeams(const DeviceContext& context, int64_t n, int64_t length, bool scattered,
                   Body body) {
  if (n <= 0) return;
#if LAYRUB_LAUNCHES
  if (context.launch && !scattered && length >= kTeamLength) {
    int threads = kLeastTeam;
    while (threads < kBlock && 2 * threads <= length) threads *= 2;
    Launch(context, Barriers::kSome, n < kMostBlocks ? n : kMostBlocks, threads, TeamKernel<Body>,
           n, body);
    return;
  }
#else
  (void)scattered;
#endif
  ParallelForHeavy(context, n, length, [=] LAYRUB_HOST_DEVICE(int64_t i) { body(i, Team()); });
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_TEAMS_HPP_
