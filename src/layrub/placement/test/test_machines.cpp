#include <gtest/gtest.h>

#include <set>

#include "layrub/placement/cost/known_gpus.hpp"
#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/cost/shared_link.hpp"

namespace layrub::placement {
namespace {

TEST(Machines, HaveRates) {
  const std::vector<std::string> names = MachineNames();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"cpu", "k40", "k80", "titanx", "p100", "v100", "a100", "h100",
                                   "h200"}));
  for (const std::string& name : names) {
    const Result<Machine> machine = FindMachine(name);
    ASSERT_TRUE(machine.ok()) << machine.status().message;
    EXPECT_EQ(machine.value().name, name);
    EXPECT_GE(machine.value().flops, 1e10);
    EXPECT_GE(machine.value().memory_bandwidth, machine.value().link_down);
    EXPECT_GE(machine.value().link_both, machine.value().link_down);
    EXPECT_LE(machine.value().link_both, machine.value().link_down + machine.value().link_up);
    EXPECT_EQ(machine.value().capacity == 0, name == "cpu");
    EXPECT_TRUE(machine.value().tf32_flops == 0 ||
                machine.value().tf32_flops > machine.value().flops);
  }
}

TEST(Machines, GiveRatesPerSecond) {
  const Machine h200 = FindMachine("h200").value();
  EXPECT_DOUBLE_EQ(h200.link_up, 55e9);
  EXPECT_NEAR(h200.flops, 4e13, 1e12);
  EXPECT_NEAR(h200.tf32_flops, 3e14, 1e13);
  EXPECT_EQ(FindMachine("v100").value().tf32_flops, 0);
  EXPECT_GT(h200.capacity, int64_t{130} << 30);
}

TEST(Machines, ListTheKnownNamesForAnUnknownOne) {
  const Status status = FindMachine("k90").status();
  EXPECT_EQ(status.code, Code::kInvalid);
  EXPECT_NE(status.message.find("'k90'"), std::string::npos);
  EXPECT_NE(status.message.find("k40, k80, titanx"), std::string::npos);
}

TEST(Machines, AreFoundByTheNameThatTheDriverGives) {
  EXPECT_EQ(KnownGpu("NVIDIA H200"), "h200");
  EXPECT_EQ(KnownGpu("NVIDIA A100-SXM4-40GB"), "a100");
  EXPECT_EQ(KnownGpu("Tesla V100-SXM2-32GB"), "v100");
  for (const char* other : {"NVIDIA GH200 480GB", "NVIDIA H100 PCIe", "NVIDIA A100-SXM4-80GB",
                            "NVIDIA RTX A1000", "NVIDIA ", "emulated device", ""}) {
    EXPECT_EQ(KnownGpu(other), "") << other;
  }
}

TEST(Machines, ShareALinkEqually) {
  const Machine machine = FindMachine("a100").value();
  const Machine part = ShareLink(machine, 2);
  EXPECT_EQ(part.name, "a100, 2 on a link");
  EXPECT_DOUBLE_EQ(part.link_down, machine.link_down / 2);
  EXPECT_DOUBLE_EQ(part.link_up, machine.link_up / 2);
  EXPECT_DOUBLE_EQ(part.link_both, machine.link_both / 2);
  EXPECT_EQ(part.flops, machine.flops);
  EXPECT_EQ(part.capacity, machine.capacity);
  EXPECT_EQ(ShareLink(machine, 1).name, "a100");
  EXPECT_EQ(ShareLink(machine, 1).link_up, machine.link_up);
}

}  // namespace
}  // namespace layrub::placement
