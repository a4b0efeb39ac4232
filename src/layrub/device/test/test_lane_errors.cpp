// Errors in the thread of a lane are thrown in the thread that waits for the lane.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "layrub/device/copy_lane.hpp"
#include "layrub/device/cpu_backend.hpp"
#include "layrub/device/test/failures_throw.hpp"
#include "layrub/device/test/file_size_limit.hpp"

namespace layrub {
namespace {

TEST(LaneErrors, FailedCopyThrowsToTheWaiterAndStopsLaterCopies) {
  int copies = 0;
  CopyLane lane([&](void*, const void*, int64_t) {
    if (++copies == 2) throw std::runtime_error("the disk is gone");
  });
  char from = 1, to = 0;
  for (int i = 0; i < 4; ++i) lane.Copy(&to, &from, 1);
  bool called = false;
  lane.Call([&] { called = true; });
  lane.Await(lane.Record());
  EXPECT_EQ(copies, 2);
  EXPECT_TRUE(called) << "somebody may wait for it";
  for (int i = 0; i < 2; ++i) EXPECT_THROW(lane.Rethrow(), std::runtime_error);
}

TEST(LaneErrors, FailureOnAnyCopyLaneStopsTheBackend) {
  const auto fail = [] { throw std::runtime_error("no memory"); };
  for (const Lane failing : {Lane::kSave, Lane::kLoad}) {
    for (const Lane waited : {Lane::kSave, Lane::kLoad}) {
      const auto backend = MakeCpuBackend();
      backend->Call(failing, fail);
      backend->Wait(waited, backend->Record(failing));
      EXPECT_THROW(backend->Wait(Lane::kCompute, backend->Record(waited)), std::runtime_error);
      EXPECT_THROW(backend->Synchronize(), std::runtime_error);
    }
  }
}

TEST(LaneErrors, NamesASpillFileThatCannotBeWritten) {
  const testing::FailuresThrow throws;  // in the lane's thread too
  char folder[] = "/tmp/lane_errors.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  {
    const auto backend = MakeCpuBackend(folder);
    constexpr int64_t kBytes = 1 << 20;
    void* const file = backend->Allocate(Tier::kFile, kBytes);
    void* const device = backend->Allocate(Tier::kDevice, kBytes);
    const testing::FileSizeLimit limit(4096);
    backend->Copy(Lane::kSpill, file, device, kBytes);
    try {
      backend->Synchronize();
      FAIL() << "written beyond the limit";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(),
                std::string("Cannot write to the spill file ") + folder + ": File too large");
    }
    backend->Free(Tier::kDevice, device);
  }
  EXPECT_EQ(rmdir(folder), 0) << "something is left there";
}

}  // namespace
}  // namespace layrub
