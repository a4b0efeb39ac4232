#ifndef CAFFE_KERNELS_TEAMS_HPP_
#define CAFFE_KERNELS_TEAMS_HPP_

// Loops over few, long items. On a GPU several threads work on one item together.

#include <cstdint>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// The minimum number of threads in a team, and the item length from which teams are used. On the
/// CPU both are so small that tests with small arrays have teams of several sizes.
#ifdef __CUDACC__
inline constexpr int kMinTeam = 32, kTeamLength = 32;
#else
inline constexpr int kMinTeam = 4, kTeamLength = 5;
#endif

/// The threads that work on one item, seen from one of them: this thread handles elements first,
/// first + step, ... On the CPU, and for short items, the team is a single thread that handles
/// elements 0, 1, ...
struct Team {
  int64_t first = 0;
  int64_t step = 1;

  /// A barrier: writes of any thread of the team before it are visible to all of them after it.
  /// Every thread must call it.
  LAYRUB_HOST_DEVICE void Sync() const {
#if defined(__CUDA_ARCH__) || (LAYRUB_LAUNCHES && !defined(__CUDACC__))
    if (step > 1) __syncthreads();
#endif
  }

  /// Returns to every thread the sum, or the maximum, of the values of all threads of the team. The
  /// order of the operations depends only on `step`. Every thread must call it.
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
    __syncthreads();  // all threads have read the previous result
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

/// Calls body(i, team) for every i in [0, n), in any order, possibly concurrently; each item has
/// `length` elements. On a GPU a team has at most as many threads as the item has elements: a power
/// of two between kMinTeam and kBlock. `scattered` means that neighbouring items, not the
/// elements of one item, are adjacent in memory; a GPU is then faster with one thread per item.
template <typename Body>
void ParallelTeams(const DeviceContext& context, int64_t n, int64_t length, bool scattered,
                   Body body) {
  if (n <= 0) return;
#if LAYRUB_LAUNCHES
  if (context.launch && !scattered && length >= kTeamLength) {
    int threads = kMinTeam;
    while (threads < kBlock && 2 * threads <= length) threads *= 2;
    Launch(context, Barriers::kSome, n < kMaxBlocks ? n : kMaxBlocks, threads, TeamKernel<Body>, n,
           body);
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
