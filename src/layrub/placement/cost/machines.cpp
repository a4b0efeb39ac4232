#include <array>
#include <string_view>

#include "layrub/base/text.hpp"
#include "layrub/placement/cost/known_gpus.hpp"
#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/cost/shared_link.hpp"

namespace layrub {
namespace {

/// The fractions of the published peaks that training sustains: of the arithmetic in convolutions
/// and matrix products, and of the memory bandwidth in streaming kernels.
constexpr double kSustainedFlops = 0.6;
constexpr double kSustainedBandwidth = 0.8;

constexpr int64_t kMiB = int64_t{1} << 20;

/// A GPU's data sheet.
struct DataSheet {
  const char* name;
  std::array<const char*, 2> products;  ///< what the driver calls it, without "NVIDIA "
  double teraflops;                     ///< peak in single precision, without tensor cores
  double tf32_teraflops;  ///< peak of tensor cores in TF32, without sparsity; 0: they have none
  double bandwidth_gbs;   ///< peak of the device memory
  double link_gbs;    ///< copy of pinned memory in one direction, as measured by bandwidth tests
  double device_gbs;  ///< what a GPU receives from others of its kind while it sends as much
  double latency;     ///< of a kernel launch or a copy
  int64_t mib;        ///< what the driver reports as total memory
};

// NVIDIA's data sheets: Tesla K40 (12 GB, base clock), one of the two GPUs of a Tesla K80, GeForce
// GTX Titan X (Maxwell), Tesla P100 SXM2 16 GB, Tesla V100 SXM2 16 GB, A100 SXM4 40 GB, H100 SXM5
// 80 GB, H200 SXM 141 GB. Links: PCIe 3, 4 and 5 x16 reach 10 to 12, 24 and 50 to 55 GB/s of their
// 16, 32 and 64. Between devices: PCIe for the first three (K80: what Tofu, EuroSys 2019, gives for
// eight on one board, as remembered), NVLink of the generations 1 to 4 for the others, at about 85
// % of its rate in one direction.
constexpr std::array<DataSheet, 8> kGpus{{
    {"k40", {"Tesla K40m", "Tesla K40c"}, 4.29, 0, 288, 10, 10, 10e-6, 11441},
    {"k80", {"Tesla K80", ""}, 2.8, 0, 240, 10, 21, 10e-6, 11441},
    {"titanx", {"GeForce GTX TITAN X", ""}, 6.14, 0, 336, 11, 11, 8e-6, 12207},
    {"p100", {"Tesla P100-SXM2-16GB", ""}, 10.6, 0, 732, 12, 35, 6e-6, 16280},
    {"v100", {"Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB"}, 15.7, 0, 900, 12, 120, 5e-6, 16160},
    {"a100", {"A100-SXM4-40GB", ""}, 19.5, 156, 1555, 24, 250, 5e-6, 40536},
    {"h100", {"H100 80GB HBM3", ""}, 66.9, 494.7, 3350, 50, 370, 5e-6, 81559},
    {"h200", {"H200", ""}, 66.9, 494.7, 4800, 55, 370, 5e-6, 143771},
}};

/// The link is full duplex. Both directions together reach less than twice the rate of one.
constexpr double kBothDirections = 1.7;

Machine FromDataSheet(const DataSheet& sheet) {
  Machine machine;
  machine.name = sheet.name;
  machine.flops = sheet.teraflops * 1e12 * kSustainedFlops;
  machine.tf32_flops = sheet.tf32_teraflops * 1e12 * kSustainedFlops;
  machine.memory_bandwidth = sheet.bandwidth_gbs * 1e9 * kSustainedBandwidth;
  machine.link_down = machine.link_up = sheet.link_gbs * 1e9;
  machine.link_both = machine.link_down * kBothDirections;
  machine.device_link = sheet.device_gbs * 1e9;
  machine.latency = sheet.latency;
  machine.capacity = sheet.mib * kMiB;
  return machine;
}

}  // namespace

Result<Machine> FindMachine(const std::string& name) {
  if (name == Machine().name) return Machine();
  for (const DataSheet& sheet : kGpus) {
    if (name == sheet.name) return FromDataSheet(sheet);
  }
  return Status::Invalid("there is no machine '" + name + "'; there are " +
                         Join(MachineNames(), ", "));
}

std::string KnownGpu(const std::string& product) {
  constexpr std::string_view kMaker = "NVIDIA ";
  const std::string_view text = product;
  const std::string_view plain =
      text.substr(0, kMaker.size()) == kMaker ? text.substr(kMaker.size()) : text;
  if (plain.empty()) return "";
  for (const DataSheet& sheet : kGpus) {
    for (const char* name : sheet.products) {
      if (plain == name) return sheet.name;
    }
  }
  return "";
}

std::vector<std::string> MachineNames() {
  std::vector<std::string> names{Machine().name};
  for (const DataSheet& sheet : kGpus) names.push_back(sheet.name);
  return names;
}

Machine ShareLink(Machine machine, int devices) {
  if (devices == 1) return machine;
  machine.name += ", " + std::to_string(devices) + " on a link";
  for (double* rate : {&machine.link_down, &machine.link_up, &machine.link_both,
                       &machine.file_write, &machine.file_read})
    *rate /= devices;
  return machine;
}

Machine OffloadRates(Machine machine, const Budget& budget) {
  if (budget.spill == 0) return machine;
  const double link = budget.host > 0 ? 1 : 0;
  machine.link_down = link * machine.link_down + machine.file_write;
  machine.link_up = link * machine.link_up + machine.file_read;
  machine.link_both = link * machine.link_both + machine.file_write + machine.file_read;
  return machine;
}

}  // namespace layrub
