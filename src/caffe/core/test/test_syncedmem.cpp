#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "caffe/syncedmem.hpp"
#include "caffe/test/expect_error.hpp"
#include "layrub/device/device.hpp"
#include "layrub/device/pool.hpp"

namespace caffe {
namespace {

class Recorder : public Resolver {
 public:
  Place Resolve(int tensor, bool write) override {
    asked.emplace_back(tensor, write);
    return {&value};
  }
  void Copied(int, bool) override {}
  std::vector<std::pair<int, bool>> asked;
  float value = 7;
};

/// The pool of CPU memory.
const layrub::Pool& HostPool() {
  return Caffe::mode() == Caffe::GPU ? Caffe::device().host_pool() : layrub::Pool::Cpu();
}

TEST(SyncedMemory, AllocatesZerosAtTheFirstAccess) {
  const int64_t before = HostPool().used();
  SyncedMemory memory(1000);
  EXPECT_EQ(memory.head(), SyncedMemory::UNINITIALIZED);
  EXPECT_EQ(HostPool().used(), before);
  const char* bytes = static_cast<const char*>(memory.cpu_data());
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
  EXPECT_GT(HostPool().used(), before);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(bytes[i], 0);
}

TEST(SyncedMemory, ReturnsItsMemoryToThePool) {
  const int64_t before = HostPool().used();
  {
    SyncedMemory memory(100000);
    memory.mutable_cpu_data();
  }
  EXPECT_EQ(HostPool().used(), before);
}

TEST(SyncedMemory, NeitherCopiesNorFreesTheUsersMemory) {
  float mine[4] = {1, 2, 3, 4};
  {
    SyncedMemory memory(sizeof(mine));
    memory.set_cpu_data(mine);
    EXPECT_EQ(memory.cpu_data(), mine);
    EXPECT_TRUE(memory.user_owned());
  }
  EXPECT_EQ(mine[3], 4);
}

TEST(SyncedMemory, ReadsTheAddressOfItsBinding) {
  Recorder resolver;
  float planned = 3;
  Binding binding{5, sizeof(float), nullptr, &planned, nullptr, &resolver, {}};
  SyncedMemory memory(sizeof(float));
  memory.Bind(&binding);
  EXPECT_EQ(memory.cpu_data(), &planned);
  EXPECT_TRUE(resolver.asked.empty());
  EXPECT_EQ(memory.mutable_cpu_data(), &resolver.value);
  ASSERT_EQ(resolver.asked.size(), 1u);
  EXPECT_EQ(resolver.asked[0], std::make_pair(5, true));
}

TEST(SyncedMemory, BindFreesItsOwnMemory) {
  Recorder resolver;
  Binding binding{0, sizeof(float), nullptr, nullptr, nullptr, &resolver, {}};
  const int64_t before = HostPool().used();
  SyncedMemory memory(4096);
  memory.mutable_cpu_data();
  memory.Bind(&binding);
  EXPECT_EQ(HostPool().used(), before);
}

TEST(SyncedMemory, UnbindCopiesTheGivenValue) {
  Recorder resolver;
  Binding binding{0, sizeof(float), nullptr, nullptr, nullptr, &resolver, {}};
  SyncedMemory memory(sizeof(float));
  memory.Bind(&binding);
  memory.Unbind(&resolver.value, memory.size());
  EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 7.0f);
  EXPECT_TRUE(resolver.asked.empty());
}

float Read(SyncedMemory* memory) { return *static_cast<const float*>(memory->cpu_data()); }
void Write(float value, SyncedMemory* memory) {
  *static_cast<float*>(memory->mutable_cpu_data()) = value;
}

TEST(SyncedMemory, SetZeroIsVisibleToEveryReader) {
  SyncedMemory memory(sizeof(float));
  Write(3, &memory);
  memory.SetZero();
  EXPECT_EQ(Read(&memory), 0);
  Write(3, &memory);
  memory.SetZero();
  EXPECT_EQ(*static_cast<float*>(memory.mutable_cpu_data()), 0);
  Write(4, &memory);
  EXPECT_EQ(Read(&memory), 4);
}

TEST(SyncedMemory, TakeZeroSkipsTheZerosOnce) {
  SyncedMemory memory(sizeof(float));
  Write(3, &memory);
  EXPECT_FALSE(memory.TakeZero());
  memory.SetZero();
  EXPECT_TRUE(memory.TakeZero());
  EXPECT_FALSE(memory.TakeZero());
  EXPECT_EQ(*static_cast<float*>(memory.mutable_cpu_data()), 3);
  memory.SetZero();
  memory.mutable_cpu_data();
  EXPECT_FALSE(memory.TakeZero());
}

TEST(SyncedMemory, PlannedZeroLastsUntilSomebodyWrites) {
  Recorder resolver;
  float planned = 3;
  Binding binding{0, sizeof(float), nullptr, &planned, &planned, &resolver, {}};
  SyncedMemory memory(sizeof(float)), other(sizeof(float));
  memory.Bind(&binding);
  other.Bind(&binding);
  memory.SetZero();
  EXPECT_EQ(planned, 3);
  EXPECT_EQ(Read(&other), 0);
  planned = 5;  // the value was offloaded and restored
  EXPECT_EQ(Read(&memory), 0);
  Write(6, &other);
  EXPECT_EQ(Read(&memory), 6);
  memory.SetZero();
  EXPECT_TRUE(other.TakeZero());
  EXPECT_FALSE(memory.TakeZero());
}

TEST(SyncedMemory, StaysZeroAfterUnbind) {
  Recorder resolver;
  Binding binding{0, sizeof(float), nullptr, nullptr, nullptr, &resolver, {}};
  SyncedMemory memory(sizeof(float));
  memory.Bind(&binding);
  memory.SetZero();
  memory.Unbind(&resolver.value, memory.size());
  EXPECT_EQ(Read(&memory), 0);
}

TEST(SyncedMemory, SetZeroZeroesUserMemoryAtOnce) {
  float mine = 3;
  SyncedMemory memory(sizeof(mine));
  memory.set_cpu_data(&mine);
  memory.SetZero();
  EXPECT_EQ(mine, 0);
  EXPECT_FALSE(memory.TakeZero());
}

TEST(SyncedMemory, RefusesToBindUserMemory) {
  Recorder resolver;
  Binding binding{0, sizeof(float), nullptr, nullptr, nullptr, &resolver, {}};
  float mine = 1;
  SyncedMemory memory(sizeof(mine));
  memory.set_cpu_data(&mine);
  EXPECT_ERROR(memory.Bind(&binding), "belongs to the user");
}

TEST(SyncedMemory, RefusesUserMemoryWhileBound) {
  Recorder resolver;
  Binding binding{0, sizeof(float), nullptr, nullptr, nullptr, &resolver, {}};
  float mine = 1;
  SyncedMemory memory(sizeof(mine));
  memory.Bind(&binding);
  EXPECT_ERROR(memory.set_cpu_data(&mine), "memory plan");
}

}  // namespace
}  // namespace caffe
