#include <glog/logging.h>
#include <malloc.h>

#include <boost/algorithm/string.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "caffe/common.hpp"
#include "caffe/util/atomic_file.hpp"
#include "layrub/base/progress_line.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"

namespace layrub_tool {

void EraseProgressOnInterrupt() {
  struct sigaction action = {};
  if (sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  action.sa_handler = [](int signal) {
    layrub::ProgressLine::WipeInSignalHandler();
    raise(signal);
  };
  sigaction(SIGINT, &action, nullptr);
}

int ExitCode(const layrub::Status& status) {
  if (status.ok()) return kSuccess;
  layrub::ProgressLine::Wipe();
  std::cerr << "layrub: " << status.message << std::endl;
  return status.code == layrub::Code::kDoesNotFit ? kDoesNotFit : kFailure;
}

void Require(const std::string& command, const std::string& flag, const std::string& value) {
  if (!value.empty()) return;
  Fail("'" + command + "' needs --" + flag + "=FILE; 'layrub " + command +
       " --help' shows an example.");
}

void CheckWritable(const std::string& path) {
  std::error_code ignored;
  // Opening and closing a pipe would look like its end to the reader.
  if (std::filesystem::is_fifo(std::filesystem::status(path, ignored))) return;
  const caffe::AtomicFile file(path);
}

void MakeFolder(const std::string& flag, const std::string& path) {
  const std::string inside = (std::filesystem::path(path) / "file").string();
  if (const std::string why = caffe::WhyLinkIsRefused(inside); !why.empty())
    Fail("--" + flag + ": " + why + ". Remove it, or name another folder.");
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) Fail("--" + flag + ": cannot make the folder " + path + ": " + error.message());
}

void WriteFile(const std::string& path, const std::string& text) {
  caffe::AtomicFile file(path);
  file.Write(text);
  file.Commit();
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

bool Given(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

void ApplyPlacementFlags(caffe::PlacementParameter* placement) {
  if (Given("placement")) placement->set_strategy(FLAGS_placement);
  if (Given("device_memory")) {
    placement->set_device_memory(FLAGS_device_memory);
  } else if (Given("machine") && !placement->has_device_memory()) {
    // Without --machine, the budget is what is free on the device at hand.
    const int64_t capacity = MachineFlag().capacity;
    if (capacity > 0) placement->set_device_memory(std::to_string(capacity));
  }
  if (Given("host_memory")) placement->set_host_memory(FLAGS_host_memory);
  if (!FLAGS_spill_file.empty()) placement->set_spill_file(FLAGS_spill_file);
  if (Given("spill_memory")) placement->set_spill_memory(FLAGS_spill_memory);
  if (FLAGS_deterministic) placement->set_deterministic(true);
}

void ApplyMachineFlags(caffe::PlacementOptions* options) {
  options->machine = MachineFlag();
  options->optimizations = DebugFlag();
}

caffe::Optimizations DebugFlag() {
  caffe::Optimizations optimizations;
  const std::map<std::string, bool*> names = {{"no_layer_fusion", &optimizations.layer_fusion},
                                              {"no_channel_blocks", &optimizations.channel_blocks},
                                              {"no_cuda_graphs", &optimizations.cuda_graphs}};
  for (const std::string& name : SplitList(FLAGS_debug)) {
    const auto found = names.find(name);
    if (found == names.end()) {
      std::string known;
      for (const auto& each : names) known += (known.empty() ? "" : ", ") + each.first;
      Fail("--debug=" + FLAGS_debug + ": there is no '" + name + "'; there are " + known + ".");
    }
    *found->second = false;
  }
  return optimizations;
}

namespace {

/// The first of these flags that is given, or "".
std::string GivenPlacementFlag() {
  for (const char* flag : {"placement", "device_memory", "host_memory", "spill_file",
                           "spill_memory", "machine", "deterministic"}) {
    if (Given(flag)) return flag;
  }
  return "";
}

}  // namespace

bool PlacementFlagGiven() { return !GivenPlacementFlag().empty(); }

void RefusePlacementFlags(const std::string& command) {
  if (!PlacementFlagGiven()) return;
  Fail("'" + command + "' runs without a memory plan: leave out --" + GivenPlacementFlag() + ".");
}

void KeepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

void RefuseUnknownFormat() {
  if (FLAGS_format != "text" && FLAGS_format != "json")
    Fail("--format=" + FLAGS_format + ": give text or json.");
}

caffe::Phase PhaseFlag(caffe::Phase otherwise) {
  if (FLAGS_phase.empty()) return otherwise;
  if (FLAGS_phase == "TRAIN") return caffe::TRAIN;
  if (FLAGS_phase == "TEST") return caffe::TEST;
  Fail("--phase=" + FLAGS_phase + ": the phase is TRAIN or TEST.");
}

}  // namespace layrub_tool
