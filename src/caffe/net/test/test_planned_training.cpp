// Training under a memory plan gives the bits of training without one.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <new>
#include <thread>

#include "caffe/net/test/training.hpp"
#include "layrub/placement/check/check.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/placement/test/tiers.hpp"

// Watches the allocations of the whole program, unless a sanitizer has its own allocator.
// Allocations for matrix products are not device bytes and do not count: OpenBLAS allocates a job
// table for each threaded product, oneDNN with AVX-512 a buffer to pack parts of the factors.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define LAYRUB_SEES_ALLOCATIONS 0
#else
#define LAYRUB_SEES_ALLOCATIONS 1
#endif

#if LAYRUB_SEES_ALLOCATIONS
namespace {
std::atomic<bool> watching{false};
std::atomic<size_t> largest{0};
void Note(size_t bytes, const void* caller) {
  if (!watching || bytes <= largest) return;
  Dl_info library;
  if (dladdr(caller, &library)) {
    for (const char* name : {"openblas", "libdnnl"})
      if (std::strstr(library.dli_fname, name)) return;
  }
  size_t seen = largest;
  while (bytes > seen && !largest.compare_exchange_weak(seen, bytes)) {
  }
}
}  // namespace

extern "C" void* malloc(size_t bytes) {
  static void* (*real)(size_t) = reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_NEXT, "malloc"));
  Note(bytes, __builtin_return_address(0));
  return real(bytes);
}

extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  static auto* real =
      reinterpret_cast<void* (*)(size_t, size_t)>(dlsym(RTLD_NEXT, "aligned_alloc"));
  Note(bytes, __builtin_return_address(0));
  return real(alignment, bytes);
}

extern "C" int posix_memalign(void** out, size_t alignment, size_t bytes) {
  static auto* real =
      reinterpret_cast<int (*)(void**, size_t, size_t)>(dlsym(RTLD_NEXT, "posix_memalign"));
  Note(bytes, __builtin_return_address(0));
  return real(out, alignment, bytes);
}
#endif

namespace caffe {
namespace {

constexpr int kIterations = 6;

std::vector<float> Train(OpenSolver* solver) {
  solver->Step(kIterations);
  return TrainedState(solver);
}

/// Constructing a solver seeds the random numbers, so one training must end before the next solver
/// is made.
std::vector<float> Train(const SolverParameter& param) {
  OpenSolver solver(param);
  return Train(&solver);
}

/// Training as Caffe does it: no plan at all.
std::vector<float> TrainWithoutPlan(const NetParameter& net) {
  SolverParameter param = SolverFor(net);
  param.clear_placement();
  OpenSolver solver(param);
  return TrainUnplanned(&solver, kIterations);
}

/// The result of training `net` under `keep`. Trained once, because many tests compare with it.
const std::vector<float>& TrainedUnderKeep(const std::string& net) {
  static std::map<std::string, std::vector<float>> known;
  const auto [entry, is_new] = known.try_emplace(net);
  if (is_new) entry->second = Train(SolverFor(ReadNet(net), "keep"));
  return entry->second;
}

class PlannedTraining : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  NetParameter net() const { return ReadNet(std::get<0>(GetParam())); }
  const std::vector<float>& plain_ = TrainedUnderKeep(std::get<0>(GetParam()));
  std::string strategy() const { return std::get<1>(GetParam()); }
};

TEST_P(PlannedTraining, GivesTheBitsOfUnplannedTraining) {
  OpenSolver solver(SolverFor(net(), strategy()));
  const std::vector<float> state = Train(&solver);
  ASSERT_NE(solver.net()->planned(), nullptr);
  EXPECT_TRUE(AllFinite(state));
  EXPECT_TRUE(SameBits(state, TrainWithoutPlan(net())));

  const layrub::Executor& executor = solver.net()->planned()->executor();
  EXPECT_EQ(executor.bytes_offloaded() > 0, layrub::testing::Moves(strategy()));
  EXPECT_EQ(executor.bytes_prefetched() > 0, layrub::testing::Moves(strategy()));
  const layrub::Plan& plan = executor.plan();
  EXPECT_EQ(layrub::testing::Recomputed(plan) > 0, layrub::testing::Recomputes(strategy()));
  const auto keep = layrub::MakePlan(executor.graph(), {}, {}, "keep");
  EXPECT_EQ(executor.plan().device_bytes < keep.value().device_bytes,
            !layrub::KeepsWhatFits(strategy()));
}

TEST_P(PlannedTraining, GivesTheSameBitsUnderPoisonAndBetweenSentinels) {
  OpenSolver poisoned(SolverFor(net(), strategy()));
  poisoned.mutable_placement_extra()->padding = 512;
  poisoned.mutable_placement_extra()->executor.poison = true;
  EXPECT_TRUE(SameBits(Train(&poisoned), plain_));
  EXPECT_TRUE(poisoned.net()->planned()->executor().SentinelsIntact());
}

TEST_P(PlannedTraining, GivesTheSameBitsUnderItsSmallestBudget) {
  OpenSolver free(SolverFor(net(), strategy()));
  ASSERT_TRUE(free.Place().ok());
  const int64_t smallest =
      layrub::testing::SmallestBudget(free.net()->planned()->executor().graph(), strategy());
  SolverParameter param = SolverFor(net(), strategy());
  param.mutable_placement()->set_device_memory(BudgetFor(smallest));
  OpenSolver tight(param);
  EXPECT_TRUE(SameBits(Train(&tight), plain_));
  EXPECT_LE(tight.net()->planned()->plan().device_bytes, smallest);

  // A search with a budget may need a little more memory than one without, but never less than the
  // floor.
  const int64_t floor = layrub::StateFloorBytes(free.net()->planned()->executor().graph());
  const int64_t too_few = layrub::UsesCosts(strategy()) ? floor - 1 : smallest - 1;
  param.mutable_placement()->set_device_memory(BudgetFor(too_few));
  OpenSolver impossible(param);
  EXPECT_EQ(impossible.Place().code, layrub::Code::kDoesNotFit);
}

TEST_P(PlannedTraining, GivesTheSameBitsWithASpillFile) {
  SolverParameter param = SolverFor(net(), strategy());
  param.mutable_placement()->set_spill_file(::testing::TempDir());
  OpenSolver solver(param);
  EXPECT_TRUE(SameBits(Train(&solver), plain_));
  const layrub::Plan& plan = solver.net()->planned()->plan();
  EXPECT_EQ(plan.host_bytes, 0);
  if (plan.spill_bytes == 0) return;
  // With half as many bytes of host memory, the rest is in the file.
  param.mutable_placement()->set_host_memory(std::to_string(plan.spill_bytes / 2));
  OpenSolver both(param);
  EXPECT_TRUE(SameBits(Train(&both), plain_));
  EXPECT_GT(both.net()->planned()->plan().spill_bytes, 0);
}

TEST_P(PlannedTraining, TouchesExactlyThePlannedBytes) {
  OpenSolver solver(SolverFor(WithOwnKernels(net()), strategy()));
  solver.mutable_placement_extra()->executor.canary = true;
  Train(&solver);
  PlannedNet<float>& planned = *solver.net()->planned();
  const int64_t touched = planned.executor().TouchedBytes();
  // Libraries may use any part of their workspace.
  const bool gpu = Caffe::mode() == Caffe::GPU;
  const int64_t untouched = gpu ? Caffe::device().library_workspace_bytes() : 0;
  EXPECT_LE(touched, planned.plan().device_bytes);
  EXPECT_GT(touched, planned.plan().device_bytes - layrub::kAlignment - untouched);
}

TEST_P(PlannedTraining, AllocatesNothingLargeInAnIteration) {
#if LAYRUB_SEES_ALLOCATIONS
  if (DeviceContext::Current().launch) GTEST_SKIP() << "a GPU's driver and libraries allocate, too";
  OpenSolver solver(SolverFor(net(), strategy()));
  solver.Step(2);
  largest = 0;
  watching = true;
  solver.Step(2);
  watching = false;
  EXPECT_LT(largest, size_t{64} * 1024);
#else
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
}

INSTANTIATE_TEST_SUITE_P(
    EveryNetAndStrategy, PlannedTraining,
    ::testing::ValuesIn(layrub::testing::Pairs(SmallNets(), layrub::StrategyNames())),
    [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

class HybridTraining : public ::testing::TestWithParam<std::string> {};

/// Makes every operation last long enough to overlap with a copy, however busy the machine is.
struct Pause : Net<float>::Callback {
  void run(int) override { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
};

TEST_P(HybridTraining, OffloadsAndOverlapsCopiesWithComputation) {
  OpenSolver solver(SolverFor(ReadNet(GetParam()), "hybrid"));
  solver.mutable_placement_extra()->executor.record = true;
  Pause pause;
  solver.net()->add_before_forward(&pause);
  solver.net()->add_before_backward(&pause);
  bool overlapped = false;
  for (int i = 0; i < 20 && !overlapped; ++i) {
    solver.Step(1);
    const layrub::Timeline& timeline = solver.net()->planned()->executor().timeline();
    for (const layrub::Span& copy : timeline.spans) {
      if (copy.lane == layrub::Lane::kCompute) continue;
      for (const layrub::Span& compute : timeline.spans) {
        if (compute.lane != layrub::Lane::kCompute) continue;
        overlapped |= std::max(copy.begin, compute.begin) < std::min(copy.end, compute.end);
      }
    }
  }
  EXPECT_TRUE(overlapped);
  layrub::Executor& executor = solver.net()->planned()->executor();
  EXPECT_GT(executor.bytes_offloaded(), 0);
  EXPECT_GT(executor.bytes_prefetched(), 0);
  OpenSolver keep(SolverFor(ReadNet(GetParam()), "keep"));
  ASSERT_TRUE(keep.Place().ok());
  EXPECT_LT(executor.plan().device_bytes, keep.net()->planned()->plan().device_bytes);
  EXPECT_EQ(keep.net()->planned()->executor().bytes_offloaded(), 0);
}

INSTANTIATE_TEST_SUITE_P(EveryNet, HybridTraining, ::testing::ValuesIn(SmallNets()),
                         [](const auto& test) { return test.param; });

/// The losses of some iterations under `strategy`.
std::vector<float> Losses(OpenSolver* solver) {
  std::vector<float> losses;
  for (int i = 0; i < kIterations; ++i) {
    solver->net()->ClearParamDiffs();
    losses.push_back(solver->net()->ForwardBackward());
    solver->ApplyUpdate();
  }
  return losses;
}

/// A branch on which no loss depends.
const char kBesideTheLoss[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 6 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "beside" type: "InnerProduct" bottom: "data" top: "beside"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "silence" type: "Silence" bottom: "beside" }
  layer { name: "loss" type: "TanH" bottom: "ip" top: "loss" loss_weight: 1 }
)";

TEST(PlannedTraining, UpdatesByZeroIfNoLayerHasAddedToAGradient) {
  for (const char* strategy : {"", "keep", "hybrid", "auto"}) {
    SolverParameter param = SolverFor(ParseNet(kBesideTheLoss), strategy);
    param.set_weight_decay(0);
    OpenSolver solver(param);
    if (*strategy) {
      ASSERT_TRUE(solver.Place().ok()) << strategy;
    }
    Blob<float>* const weights = solver.net()->layer_by_name("beside")->blobs()[0].get();
    const vector<float> before(weights->cpu_data(), weights->cpu_data() + weights->count());
    Blob<float>* const data = solver.net()->input_blobs()[0];
    std::fill_n(data->mutable_cpu_data(), data->count(), 0.5f);
    std::fill_n(weights->mutable_cpu_diff(), weights->count(), NAN);
    Losses(&solver);
    const vector<float> after(weights->cpu_data(), weights->cpu_data() + weights->count());
    EXPECT_TRUE(SameBits(after, before)) << strategy;
  }
}

TEST(SqrtTraining, RecomputesBatchNormsAndCountsNoLossTwice) {
  OpenSolver keep(SolverFor(ReadNet("mini_resnet"), "keep"));
  ASSERT_TRUE(keep.Place().ok());
  const std::vector<float> losses = Losses(&keep);
  OpenSolver solver(SolverFor(ReadNet("mini_resnet"), "sqrt"));
  solver.mutable_placement_extra()->executor.record = true;
  ASSERT_TRUE(solver.Place().ok());
  EXPECT_TRUE(SameBits(Losses(&solver), losses));
  const layrub::Executor& executor = solver.net()->planned()->executor();
  int again = 0, normalized_again = 0;
  for (const layrub::Span& span : executor.timeline().spans) {
    const layrub::Step& step = executor.plan().steps[span.step];
    if (!step.recompute) continue;
    EXPECT_EQ(span.lane, layrub::Lane::kCompute);
    ++again;
    for (const layrub::TensorId tensor : executor.graph().ops[step.op].variants[0].writes)
      normalized_again += executor.graph().tensors[tensor].is_state();  // running statistics
  }
  EXPECT_EQ(again, layrub::testing::Recomputed(executor.plan()));
  EXPECT_GT(normalized_again, 0);
}

TEST(PlannedTraining, KeepsAllBlobsByDefault) {
  OpenSolver keep(SolverFor(ReadNet("mini_resnet"), "keep"));
  ASSERT_TRUE(keep.Place().ok());
  OpenSolver solver(SolverFor(ReadNet("mini_resnet")));
  solver.Step(kIterations);
  const layrub::Plan& plan = solver.net()->planned()->plan();
  EXPECT_EQ(plan.strategy, "auto");
  EXPECT_EQ(plan.device_bytes, keep.net()->planned()->plan().device_bytes);
  EXPECT_EQ(plan.host_bytes, 0);
  for (const auto& blob : solver.net()->blobs()) EXPECT_NE(blob->cpu_data(), nullptr);
  EXPECT_TRUE(SameBits(TrainedState(&solver), Train(SolverFor(ReadNet("mini_resnet"), "keep"))));
}

TEST(PlannedTraining, AccumulatesGradientsOverSeveralPassesOfOneStep) {
  SolverParameter keep = SolverFor(ReadNet("mini_resnet"), "keep");
  keep.set_iter_size(3);
  SolverParameter hybrid = SolverFor(ReadNet("mini_resnet"), "hybrid");
  hybrid.set_iter_size(3);
  EXPECT_TRUE(SameBits(Train(keep), Train(hybrid)));
}

TEST(PlannedTraining, ClipsGradientsAsWithoutAPlan) {
  SolverParameter keep = SolverFor(ReadNet("lenet"), "keep");
  keep.set_clip_gradients(0.5f);
  SolverParameter hybrid = SolverFor(ReadNet("lenet"), "hybrid");
  hybrid.set_clip_gradients(0.5f);
  EXPECT_TRUE(SameBits(Train(keep), Train(hybrid)));
}

}  // namespace
}  // namespace caffe
