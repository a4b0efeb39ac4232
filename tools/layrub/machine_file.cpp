#include "layrub/machine_file.hpp"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "caffe/common.hpp"
#include "caffe/util/io.hpp"
#include "layrub/base/input.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/device.hpp"
#include "layrub/flags.hpp"
#include "layrub/placement/cost/known_gpus.hpp"
#include "layrub/placement/cost/profile.hpp"
#include "layrub/placement/cost/shared_link.hpp"
#include "layrub/runtime/measure.hpp"
#include "layrub/write_profile.hpp"

namespace layrub_tool {

namespace {

using layrub::Machine;
using nlohmann::json;

struct Rate {
  const char* key;
  double Machine::*member;
};
constexpr std::array<Rate, 8> kRates{{
    {"flops", &Machine::flops},
    {"memory_bandwidth", &Machine::memory_bandwidth},
    {"link_down", &Machine::link_down},
    {"link_up", &Machine::link_up},
    {"link_both", &Machine::link_both},
    {"latency", &Machine::latency},
    {"compute_while_copying", &Machine::compute_while_copying},
    {"copy_while_computing", &Machine::copy_while_computing},
}};

/// Rates that profiles may lack. They are measured only if there is a spill file.
constexpr std::array<Rate, 2> kFileRates{{
    {"file_write", &Machine::file_write},
    {"file_read", &Machine::file_read},
}};

[[noreturn]] void FailIn(const std::string& where, const std::string& what) {
  Fail("--machine=" + where + ": " + what);
}

/// The value of `key`, a number above 0, or 0 if `zero`.
double Number(const json& object, const char* key, const std::string& where, bool zero = false) {
  const auto found = object.find(key);
  if (found == object.end()) FailIn(where, std::string("key '") + key + "' is missing.");
  const double value = found->is_number() ? found->get<double>() : -1;
  if (value < 0 || (value == 0 && !zero))
    FailIn(where, std::string("key '") + key + "' is not a number above 0.");
  return value;
}

std::string Text(const json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    FailIn(where, std::string("key '") + key + "' is missing or not a string.");
  return found->get<std::string>();
}

void ReadOperations(const json& operations, const std::string& path, Machine* machine) {
  if (!operations.is_array()) FailIn(path, "key 'operations' is not a list.");
  for (size_t i = 0; i < operations.size(); ++i) {
    const json& entry = operations[i];
    const std::string where = path + ": operations[" + std::to_string(i) + "]";
    if (!entry.is_object()) FailIn(where, "is not an object.");
    machine->measured[Text(entry, "op", where)][Text(entry, "variant", where)] = {
        Number(entry, "bytes_moved", where, true), Number(entry, "seconds", where)};
  }
}

Machine ReadMachineFile(const std::string& path, const std::string& text) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::exception& error) {
    const std::string said = error.what();  // the library's prefix is cut off
    const size_t begin = said.find("] ");
    FailIn(path, "is not JSON: " + (begin == std::string::npos ? said : said.substr(begin + 2)));
  }
  if (!root.is_object()) FailIn(path, "is not a JSON object.");
  Machine machine;
  machine.name = Text(root, "name", path);
  for (const Rate& rate : kRates) machine.*rate.member = Number(root, rate.key, path);
  for (const Rate& rate : kFileRates) {
    if (root.contains(rate.key)) machine.*rate.member = Number(root, rate.key, path);
  }
  if (root.contains("device_link")) machine.device_link = Number(root, "device_link", path);
  if (root.contains("tf32_flops")) machine.tf32_flops = Number(root, "tf32_flops", path);
  if (root.contains("capacity")) {
    const double capacity = Number(root, "capacity", path);
    if (capacity >= 0x1p63) FailIn(path, "key 'capacity' is not a number of bytes below 2^63.");
    machine.capacity = static_cast<int64_t>(capacity);
  }
  if (root.contains("operations")) ReadOperations(root["operations"], path, &machine);
  const double links = root.contains("links") ? Number(root, "links", path) : 1;
  return layrub::ShareLink(machine, static_cast<int>(std::ceil(SolversFlag() / links)));
}

/// The data sheet of the first GPU that --gpu names; nothing runs on that GPU. Without --gpu, a
/// CPU.
Machine MachineOfGpuFlag() {
  const layrub::Device* const gpu = GpuFlag();
  if (gpu == nullptr) return Machine();
  const std::string known = layrub::KnownGpu(gpu->Name());
  if (!known.empty()) return layrub::FindMachine(known).value();
  Fail("--gpu=" + FLAGS_gpu + ": " + gpu->Name() +
       " is not a known machine; name a similar one, or a profile of it, with --machine.");
}

/// The GPU of GPU mode: its data sheet if it is known, else measured. With --deterministic nothing
/// is measured, and an unknown GPU counts as a CPU.
Machine MachineOfDevice(layrub::Device* device) {
  const std::string name = device->Name();
  const std::string known = layrub::KnownGpu(name);
  if (!known.empty()) return layrub::FindMachine(known).value();
  if (FLAGS_deterministic) {
    LOG(INFO) << name << " is not a known machine, and --deterministic measures nothing: plans are"
              << " made as for a CPU. Name a similar machine, or a profile of it, with --machine.";
    return Machine();
  }
  Machine machine = MeasureDevice();
  layrub::MeasureCopies(device->MakeBackend("").get(), kBytesToCopy, &machine);
  return machine;
}

Machine MachineByDefault() {
  if (caffe::Caffe::mode() == caffe::Caffe::CPU) return MachineOfGpuFlag();
  static const Machine machine = MachineOfDevice(&caffe::Caffe::device());
  return machine;
}

}  // namespace

Machine MachineFlag() {
  const layrub::Result<Machine> known =
      FLAGS_machine.empty() ? MachineByDefault() : layrub::FindMachine(FLAGS_machine);
  if (known.ok()) return layrub::ShareLink(known.value(), SolversFlag());
  std::error_code unknown;
  if (!std::filesystem::exists(FLAGS_machine, unknown))
    FailIn(FLAGS_machine, known.status().message + "; and there is no such file.");
  static const Machine read = [] {  // once: it may be a pipe
    const layrub::Result<std::string> text = layrub::ReadText(FLAGS_machine);
    if (!text.ok()) Fail("--machine: " + text.status().message);
    return ReadMachineFile(FLAGS_machine, text.value());
  }();
  return read;
}

void WarnIfProfileLacksOperations(const layrub::Graph& graph, const Machine& machine) {
  const int measured = layrub::MeasuredOperations(graph, machine);
  if (machine.measured.empty() || measured == static_cast<int>(graph.ops.size())) return;
  LOG(WARNING) << "--machine=" << FLAGS_machine << " has times for " << measured << " of the "
               << graph.ops.size() << " operations of net " << graph.name
               << ": it was measured with another net, batch, solver or phase. The times of the "
                  "others are estimated.";
}

void WriteMachineFile(const std::string& path, const Machine& machine) {
  json root = {{"name", machine.name}};
  for (const Rate& rate : kRates) root[rate.key] = machine.*rate.member;
  if (!FLAGS_spill_file.empty()) {
    for (const Rate& rate : kFileRates) root[rate.key] = machine.*rate.member;
  }
  if (machine.tf32_flops > 0) root["tf32_flops"] = machine.tf32_flops;
  if (machine.capacity > 0) root["capacity"] = machine.capacity;
  root["operations"] = json::array();
  for (const auto& [op, variants] : machine.measured) {
    for (const auto& [variant, measured] : variants) {
      root["operations"].push_back({{"op", op},
                                    {"variant", variant},
                                    {"bytes_moved", measured.bytes_moved},
                                    {"seconds", measured.seconds}});
    }
  }
  std::sort(root["operations"].begin(), root["operations"].end());
  WriteFile(path, root.dump(1) + "\n");
}

}  // namespace layrub_tool
