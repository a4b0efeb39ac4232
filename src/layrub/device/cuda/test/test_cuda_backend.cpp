#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/cuda/test/cuda_job.hpp"
#include "layrub/device/cuda/test/fake_runtime.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"
#include "layrub/placement/test/slides.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/toy.hpp"

// The GPU backend on a runtime that does work as early or as late as allowed: whether it makes the
// calls that the plan asks for, in a safe order.
namespace layrub {
namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;
using fake_cuda::Alive;
using fake_cuda::Call;
using fake_cuda::Pace;

constexpr int kIterations = 3;
constexpr Pass kPasses[] = {Pass::kForward, Pass::kBackward, Pass::kUpdate};

/// Calls in which the host waits for a device.
bool Waits(const Call& call) {
  return call.name == "cudaStreamSynchronize" || call.name == "cudaEventSynchronize" ||
         call.name == "cudaMemcpy";
}

bool Work(const Call& call) {
  static const std::set<std::string> calls = {"cudaMemcpyAsync",     "cudaMemsetAsync",
                                              "cudaLaunchHostFunc",  "kernel",
                                              "cudaStreamWaitEvent", "cudaEventRecord"};
  return calls.count(call.name) > 0;
}

TEST_F(CudaBackendTest, QueuesExactlyThePlansStepsInOrder) {
  Job job(graph_, plan_);
  job.toy.RunIteration();
  fake_cuda::ForgetCalls();
  job.toy.RunIteration();
  std::vector<std::string> calls;
  for (const Call& call : fake_cuda::Calls()) {
    if (!Waits(call)) calls.push_back(call.name);
  }
  const std::vector<std::string> expected = {
      "kernel",
      "cudaEventRecord",  // a forward, awaited by the save lane
      "kernel",           // b forward
      "cudaStreamWaitEvent",
      "cudaMemcpyAsync",  // a goes to the host
      "cudaEventRecord",  // awaited by both other lanes
      "kernel",           // c forward
      "cudaStreamWaitEvent",
      "cudaMemsetAsync",  // dc, in a's bytes, is zero
      "cudaStreamWaitEvent",
      "cudaMemcpyAsync",      // a comes back
      "cudaEventRecord",      // for whoever reads a after the pass
      "cudaEventRecord",      // awaited by the compute lane
      "kernel",               // c backward
      "cudaStreamWaitEvent",  // a is there
      "kernel",
      "kernel"};  // b backward, update
  EXPECT_EQ(calls, expected);
}

TEST_F(CudaBackendTest, QueuesAFeedOnTheLoadLaneAndAFunctionAfterItsCopies) {
  const Graph graph = FedChain();
  Job job(graph, PlanTightly(graph, "liveness"));
  job.toy.RunIteration();
  fake_cuda::ForgetCalls();
  job.toy.RunIteration();
  std::vector<std::string> calls;
  for (const Call& call : fake_cuda::Calls()) {
    if (!Waits(call)) calls.push_back(call.name);
  }
  calls.resize(6);
  const std::vector<std::string> expected = {
      "cudaMemcpyAsync",      // x comes from the host
      "cudaLaunchHostFunc",   // where it was is free again
      "cudaEventRecord",      // for whoever reads x after the pass
      "cudaEventRecord",      // awaited by the compute lane
      "cudaStreamWaitEvent",  // x is there
      "kernel"};              // a forward
  EXPECT_EQ(calls, expected);
  EXPECT_EQ(job.toy.wrong(), Nothing());
}

TEST_F(CudaBackendTest, RepeatsCapturedWorkInTheOrderOfItsStream) {
  for (const Pace pace : {Pace::kEarly, Pace::kLate, Pace::kRandom}) {
    fake_cuda::Reset({.pace = pace});
    CudaDevice device(0);
    std::vector<int> seen;
    const auto launch = [&](int number) {
      fake_cuda::Launch([&seen, number] { seen.push_back(number); },
                        static_cast<cudaStream_t>(device.stream()));
    };
    void* const compute = device.stream();
    launch(1);
    ASSERT_TRUE(device.BeginCapture());
    EXPECT_NE(device.stream(), compute);
    launch(2);
    launch(3);
    const std::unique_ptr<CapturedWork> work = device.EndCapture();
    ASSERT_NE(work, nullptr);
    EXPECT_EQ(device.stream(), compute);
    launch(4);
    work->Queue();
    // A user's kernel, on the default stream, has its turn.
    fake_cuda::Launch([&seen] { seen.push_back(5); });
    work->Queue();
    device.Synchronize();
    EXPECT_EQ(seen, (std::vector<int>{1, 4, 2, 3, 5, 2, 3}));
  }
}

TEST_F(CudaBackendTest, ReturnsNoGraphIfCaptureFailsAndGoesOn) {
  fake_cuda::Reset({.fail = [](const std::string& call) {
    return call == "cudaGraphInstantiate" ? cudaErrorNotSupported : cudaSuccess;
  }});
  CudaDevice device(0);
  int seen = 0;
  const auto launch = [&] {
    fake_cuda::Launch([&seen] { ++seen; }, static_cast<cudaStream_t>(device.stream()));
  };
  ASSERT_TRUE(device.BeginCapture());
  launch();
  EXPECT_EQ(device.EndCapture(), nullptr);
  launch();
  device.Synchronize();
  EXPECT_EQ(seen, 1);
}

TEST_F(CudaBackendTest, NeverWaitsOnTheHostWithinAnIteration) {
  for (int seed = 0; seed <= 10; ++seed) {
    const Graph graph = seed == 0 ? FedChain() : RandomGraph(seed, 20);
    const bool file = seed % 2 != 0;
    const Plan plan =
        file ? testing::PlanTightlyWithFile(graph, "hybrid") : PlanTightly(graph, "hybrid");
    Job job(graph, plan, file ? ::testing::TempDir() : "");
    fake_cuda::ForgetCalls();
    for (const Pass pass : kPasses) job.executor.Run(pass, &job.toy);
    const std::vector<Call> calls = fake_cuda::Calls();
    const auto first = std::find_if(calls.begin(), calls.end(), Work);
    const auto last = std::find_if(calls.rbegin(), calls.rend(), Work).base();
    ASSERT_LT(first, last);
    EXPECT_EQ(std::count_if(first, last, Waits), 0) << graph.name;
    EXPECT_EQ(std::count_if(calls.begin(), calls.end(), [](const Call& c) { return c.pageable; }),
              0)
        << graph.name;
  }
}

TEST_F(CudaBackendTest, APlanMakesOneDeviceAllocationAndOnePinned) {
  CudaDevice device(0);
  const std::unique_ptr<Backend> backend = device.MakeBackend("");
  fake_cuda::ForgetCalls();
  const Executor executor(graph_, plan_, backend.get());
  std::map<std::string, std::vector<int64_t>> taken;
  for (const Call& call : fake_cuda::Calls()) {
    if (Takes(call.name)) taken[call.name].push_back(call.bytes);
  }
  const std::map<std::string, std::vector<int64_t>> expected = {
      {"cudaHostAlloc", {plan_.host_bytes}}, {"cudaMalloc", {plan_.device_bytes}}};
  EXPECT_EQ(taken, expected);
}

TEST_F(CudaBackendTest, AllocatesNothingFromTheSecondIterationOn) {
  const Graph graph = RandomGraph(3, 40);
  const Plan plan = PlanTightly(graph, "hybrid");
  for (const bool record : {false, true}) {
    Job job(graph, plan, "", {.record = record});
    job.toy.RunIteration();
    fake_cuda::ForgetCalls();
    for (int i = 0; i < kIterations; ++i) job.toy.RunIteration();
    for (const Call& call : fake_cuda::Calls()) EXPECT_FALSE(Takes(call.name)) << call.name;
  }
}

class PacesTest : public CudaBackendTest,
                  public ::testing::WithParamInterface<std::pair<Pace, uint32_t>> {
 protected:
  void SetUp() override { fake_cuda::Reset({.pace = GetParam().first, .seed = GetParam().second}); }
};

TEST_P(PacesTest, EveryStrategyGivesTheSameBitsAsNoPlan) {
  for (const std::string& strategy : StrategyNames()) {
    for (int seed = 1; seed <= 12; ++seed) {
      const Graph graph = RandomGraph(seed, 3 + seed % 23);
      Job job(graph, PlanTightly(graph, strategy));
      EXPECT_EQ(job.Iterate(kIterations), Nothing()) << strategy << ", " << graph.name;
    }
  }
}

TEST_P(PacesTest, PlansThatMoveTensorsWithinTheDeviceGiveTheSameBits) {
  int64_t moves = 0;
  for (int seed = 0; seed < 8; ++seed) {
    const Graph graph = RandomGraph(seed, 100);
    const placement::Program program = RandomProgram(graph, seed, /*reckless=*/false);
    const placement::pack::Options packing = IntoPeak(graph, program, RandomPacking(seed));
    const Plan plan = placement::schedule::Schedule(graph, program, packing).value();
    if (MovesIn(plan) == 0) continue;
    moves += MovesIn(plan);
    Job job(graph, plan, ::testing::TempDir());
    EXPECT_EQ(job.Iterate(kIterations), Nothing()) << graph.name;
  }
  EXPECT_GT(moves, 3);
}

TEST_P(PacesTest, PlansThatSlideTensorsGiveTheSameBits) {
  int64_t slides = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    const Graph graph = RandomGraph(seed, 3 + seed % 23);
    const placement::Program program = RandomProgram(graph, seed, /*reckless=*/false);
    const Plan plan = WithSlides(
        graph, placement::schedule::Schedule(graph, program, RandomPacking(seed)).value(), seed);
    slides += SlidesIn(graph, plan);
    Job job(graph, plan, ::testing::TempDir(), {.poison = seed % 3 == 0});
    EXPECT_EQ(job.Iterate(kIterations), Nothing()) << graph.name;
  }
  EXPECT_GT(slides, 100);
}

TEST_P(PacesTest, NeverReadsFreedRanges) {
  for (int seed = 1; seed <= 6; ++seed) {
    const Graph graph = RandomGraph(seed, 20);
    Job job(graph, PlanTightly(graph, "hybrid", kAlignment), "", {.poison = true});
    EXPECT_EQ(job.Iterate(2), Nothing()) << graph.name;
    EXPECT_TRUE(job.executor.SentinelsIntact()) << graph.name;
  }
}

TEST_P(PacesTest, RecordsWhenEachLaneWorked) {
  const Graph graph = RandomGraph(4, 25);
  Job job(graph, PlanTightly(graph, "hybrid"), "", {.record = true});
  for (int i = 0; i < kIterations; ++i) {
    EXPECT_EQ(job.Iterate(1), Nothing());
    std::map<Lane, double> ends;
    for (const Span& span : job.executor.timeline().spans) {
      EXPECT_LE(span.begin, span.end);
      EXPECT_GE(span.begin, ends[span.lane]);
      ends[span.lane] = span.end;
    }
    EXPECT_EQ(ends.size(), 3u);
  }
}

TEST_P(PacesTest, SpillsToAFileWithTheSameBits) {
  for (int seed = 1; seed <= 6; ++seed) {
    const Graph graph = RandomGraph(seed, 20);
    const int64_t host = PlanTightly(graph, "hybrid").host_bytes * (seed % 3) / 3;
    const Plan plan =
        MakePlan(graph, {}, {.host = host, .spill = kUnlimitedBudget.spill}, "hybrid").value();
    EXPECT_GT(plan.spill_bytes, 0) << graph.name;
    Job job(graph, plan, ::testing::TempDir());
    EXPECT_EQ(job.Iterate(kIterations), Nothing()) << graph.name;
  }
}

TEST_P(PacesTest, SeveralDevicesWorkInTurnAndInThreads) {
  fake_cuda::Reset({.devices = 2, .pace = GetParam().first, .seed = GetParam().second});
  const Graph other = RandomGraph(5, 20);
  Job first(graph_, plan_, "", {}, 0);
  Job second(other, PlanTightly(other, "hybrid"), "", {}, 1);
  for (int i = 0; i < kIterations; ++i) {
    EXPECT_EQ(first.Iterate(1), Nothing());
    EXPECT_EQ(second.Iterate(1), Nothing());
  }
  std::thread thread([&] { EXPECT_EQ(first.Iterate(kIterations), Nothing()); });
  EXPECT_EQ(second.Iterate(kIterations), Nothing());
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Paces, PacesTest,
                         ::testing::Values(std::pair(Pace::kEarly, 0u), std::pair(Pace::kLate, 0u),
                                           std::pair(Pace::kRandom, 1u),
                                           std::pair(Pace::kRandom, 2u),
                                           std::pair(Pace::kRandom, 3u)));

/// Whether some order of work fails without the wait number `dropped`.
bool Shows(const Graph& graph, const Plan& plan, int dropped) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    fake_cuda::Reset({.pace = Pace::kRandom, .seed = seed, .drop_wait = [dropped](int number) {
                        return number == dropped;
                      }});
    Job job(graph, plan);
    if (!job.Iterate(1).empty()) return true;
  }
  return false;
}

TEST_F(CudaBackendTest, EveryWaitOfAPlanIsNeeded) {
  const Graph other = RandomGraph(4, 25), fed = FedChain();
  for (const auto& [graph, plan] :
       {std::pair(graph_, plan_), std::pair(other, PlanTightly(other, "hybrid")),
        std::pair(fed, PlanTightly(fed, "hybrid"))}) {
    const auto waits = std::count_if(plan.steps.begin(), plan.steps.end(),
                                     [](const Step& step) { return step.kind == StepKind::kWait; });
    EXPECT_GE(waits, 3);
    for (int i = 0; i < waits; ++i) {
      EXPECT_TRUE(Shows(graph, plan, i)) << graph.name << ", wait " << i;
    }
    EXPECT_FALSE(Shows(graph, plan, -1)) << graph.name;
  }
}

TEST_F(CudaBackendTest, ReportsMemoryOfContextAndLibraries) {
  const int64_t mib = int64_t{1} << 20;
  fake_cuda::Reset({.context_bytes = 5 * mib, .others_bytes = 2 * mib});
  CudaDevice device(0);
  EXPECT_EQ(device.Usage().context_bytes, 7 * mib) << "other processes' bytes are in it";
  EXPECT_EQ(device.Usage().peak_bytes, 7 * mib);
  EXPECT_EQ(device.Usage().library_bytes, 0);
  void* const memory = device.Allocate(10 * mib);
  EXPECT_EQ(device.Usage().library_bytes, 0);
  fake_cuda::LoadLibraries(3 * mib);
  EXPECT_EQ(device.Usage().library_bytes, 3 * mib);
  EXPECT_EQ(device.Usage().overhead_bytes(), (7 + 512) * mib) << "more libraries are to come";
  device.Free(memory);
  EXPECT_EQ(device.Usage().library_bytes, 3 * mib);
  EXPECT_EQ(device.Usage().peak_bytes, 20 * mib) << "of the moment when all was there";
  EXPECT_EQ(device.free_bytes(), device.total_bytes() - 10 * mib);
}

TEST_F(CudaBackendTest, LibraryWorkspaceDependsOnComputeCapability) {
  for (const auto& [capability, mib] : {std::pair(7, 4), std::pair(9, 32)}) {
    fake_cuda::Reset({.compute_capability = capability});
    CudaDevice device(0);
    EXPECT_EQ(device.library_workspace_bytes(), int64_t{mib} << 20);
  }
}

TEST_F(CudaBackendTest, RefusesInvalidCalls) {
  CudaDevice device(0);
  const std::unique_ptr<Backend> backend = device.MakeBackend("");
  int value = 0;
  EXPECT_THROW(backend->Call(Lane::kCompute, [] {}), std::invalid_argument);
  EXPECT_THROW(backend->Free(Tier::kDevice, &value), std::invalid_argument);
  EXPECT_EQ(backend->Allocate(Tier::kDevice, int64_t{1} << 60), nullptr);
  EXPECT_EQ(backend->Allocate(Tier::kHost, INT64_MAX), nullptr);
  EXPECT_EQ(backend->Allocated(Tier::kDevice), 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "it would be reported by a kernel's check";
}

TEST_F(CudaBackendTest, AMachineWithoutGpusSaysSo) {
  EXPECT_EXIT(
      {
        fake_cuda::Reset({.devices = 0});
        std::cerr << GpuCount() << " GPUs: " << NoGpuReason() << std::endl;
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "0 GPUs: Cannot use a GPU: ");
}

}  // namespace
}  // namespace layrub
