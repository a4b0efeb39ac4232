#include <glog/logging.h>

#include <boost/algorithm/string.hpp>
#include <charconv>
#include <cstdlib>
#include <iostream>

#include "caffe/common.hpp"
#include "layrub/commands.hpp"
#include "layrub/device.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"

namespace layrub_tool {

void Fail(const std::string& message) {
  std::cerr << "layrub: " << message << std::endl;
  std::exit(kFailure);
}

int ExitCode(const layrub::Status& status) {
  if (status.ok()) return kSuccess;
  std::cerr << "layrub: " << status.message << std::endl;
  return status.code == layrub::Code::kDoesNotFit ? kDoesNotFit : kFailure;
}

void Require(const std::string& command, const std::string& flag, const std::string& value) {
  if (!value.empty()) return;
  Fail("'" + command + "' needs --" + flag + "=FILE; 'layrub " + command +
       " --help' shows an example.");
}

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> parts;
  if (list.empty()) return parts;
  boost::split(parts, list, boost::is_any_of(","));
  for (std::string& part : parts) boost::trim(part);
  return parts;
}

void ApplyStateFlags(caffe::NetState* state) {
  state->set_level(FLAGS_level);
  for (const std::string& stage : SplitList(FLAGS_stage)) state->add_stage(stage);
}

void ApplyPlacementFlags(caffe::PlacementParameter* placement) {
  if (!FLAGS_placement.empty()) placement->set_strategy(FLAGS_placement);
  if (!FLAGS_device_memory.empty()) {
    placement->set_device_memory(FLAGS_device_memory);
  } else if (const int64_t capacity = MachineFlag().capacity; capacity > 0) {
    placement->set_device_memory(std::to_string(capacity));
  }
  if (!FLAGS_host_memory.empty()) placement->set_host_memory(FLAGS_host_memory);
  if (!FLAGS_spill_file.empty()) placement->set_spill_file(FLAGS_spill_file);
  if (FLAGS_deterministic) placement->set_deterministic(true);
}

void RefusePlacementFlags(const std::string& command) {
  for (const char* flag :
       {"placement", "device_memory", "host_memory", "spill_file", "machine", "deterministic"}) {
    if (gflags::GetCommandLineFlagInfoOrDie(flag).is_default) continue;
    Fail("'" + command + "' runs without a memory plan: leave out --" + flag + ".");
  }
}

namespace {

/// The number of a GPU in --gpu.
int GpuFlag() {
  int id = -1;
  const char* const end = FLAGS_gpu.data() + FLAGS_gpu.size();
  const auto read = std::from_chars(FLAGS_gpu.data(), end, id);
  if (read.ec != std::errc() || read.ptr != end)
    Fail("--gpu=" + FLAGS_gpu + ": this version runs on one GPU; give its number.");
  return id;
}

}  // namespace

void ChooseDevice(bool gpu_by_default, int default_gpu) {
  if (FLAGS_gpu.empty() && !gpu_by_default) {
    LOG(INFO) << "Use CPU.";
    caffe::Caffe::set_mode(caffe::Caffe::CPU);
    return;
  }
  const std::string wanted = FLAGS_gpu.empty() ? "solver_mode: GPU" : "--gpu=" + FLAGS_gpu;
  if (layrub::GpuCount() == 0) {
    Fail(wanted + " asks for a GPU, and there is no GPU to use (" + layrub::WhyNoGpu() +
         "). Leave out --gpu and set solver_mode: CPU.");
  }
  const int id = FLAGS_gpu.empty() ? default_gpu : GpuFlag();
  if (!caffe::Caffe::CheckDevice(id)) {
    Fail(wanted + ": there is no GPU " + std::to_string(id) + ", this machine's are 0 to " +
         std::to_string(layrub::GpuCount() - 1) + ".");
  }
  caffe::Caffe::SetDevice(id);
  caffe::Caffe::set_mode(caffe::Caffe::GPU);
  const std::string lines = caffe::Caffe::device().Describe();
  LOG(INFO) << "Use GPU with device ID " << id;
  LOG(INFO) << "GPU device name: " << lines.substr(0, lines.find('\n'));
}

caffe::Phase PhaseFlag(caffe::Phase otherwise) {
  if (FLAGS_phase.empty()) return otherwise;
  if (FLAGS_phase == "TRAIN") return caffe::TRAIN;
  if (FLAGS_phase == "TEST") return caffe::TEST;
  Fail("--phase=" + FLAGS_phase + ": the phase is TRAIN or TEST.");
}

}  // namespace layrub_tool
