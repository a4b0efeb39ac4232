#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layrub/device/cuda/test/cuda_job.hpp"

// What a profiler sees of training: a range for each pass, and within it one for each operation.
// The test acts as the profiler, through a function that NVTX looks for in the program.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace layrub::testing {
namespace {

std::vector<std::string> seen;  ///< the names of ranges that begin; "." ends one

int NVTX_API SeeBegin(const char* name) {
  seen.emplace_back(name);
  return 0;
}
int NVTX_API SeeEnd() {
  seen.emplace_back(".");
  return 0;
}

template <typename Function>
void Listen(NvtxFunctionTable table, int entry, Function* function) {
  *table[entry] = reinterpret_cast<NvtxFunctionPointer>(function);
}

int NVTX_API BeginToListen(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
  Listen(table, NVTX_CBID_CORE_RangePushA, &SeeBegin);
  Listen(table, NVTX_CBID_CORE_RangePop, &SeeEnd);
  return 1;
}

class NvtxRanges : public CudaBackendTest {
 protected:
  void SetUp() override { InitializeInjectionNvtx2_fnptr = BeginToListen; }
};

TEST_F(NvtxRanges, NameThePassesAndTheirOperations) {
  Job job(graph_, plan_);
  seen.clear();
  EXPECT_EQ(job.Iterate(1), Nothing());
  std::vector<std::string> expected;
  constexpr const char* kNames[] = {"forward", "backward", "update"};
  int32_t begin = 0;
  for (size_t pass = 0; pass < 3; ++pass) {
    expected.emplace_back(kNames[pass]);
    for (int32_t i = begin; i < plan_.pass_end[pass]; ++i) {
      const Step& step = plan_.steps[static_cast<size_t>(i)];
      if (step.kind != StepKind::kRun || step.lane != Lane::kCompute) continue;
      expected.push_back(graph_.ops[step.op].name);
      expected.emplace_back(".");
    }
    expected.emplace_back(".");
    begin = plan_.pass_end[pass];
  }
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace layrub::testing

#else

TEST(NvtxRanges, AreNotInThisBuild) { GTEST_SKIP() << "CUDA's headers here have no nvtx3."; }

#endif
