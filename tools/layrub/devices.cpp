#include <glog/logging.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "caffe/common.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/device.hpp"
#include "layrub/device/ranks.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {

namespace {

constexpr int kMostSolvers = 64;

const layrub::RankCommunicator* ranks = nullptr;  ///< of which this process is one

/// The GPU numbers of --gpu; empty if it is not given.
std::vector<int> GpusFlag() {
  if (FLAGS_gpu == "all") {
    if (layrub::GpuCount() == 0)
      Fail("--gpu=all: there is no GPU (" + layrub::NoGpuReason() + ").");
    std::vector<int> all(layrub::GpuCount());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<int> ids;
  for (const std::string& text : SplitList(FLAGS_gpu)) {
    int id = -1;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || id < 0)
      Fail("--gpu=" + FLAGS_gpu + ": '" + text +
           "' is not the number of a GPU; give 0, 0,1 or all.");
    if (std::count(ids.begin(), ids.end(), id))
      Fail("--gpu=" + FLAGS_gpu + ": GPU " + text + " is named twice.");
    ids.push_back(id);
  }
  return ids;
}

std::vector<layrub::Device*> UseCpu() {
  LOG(INFO) << "Use CPU.";
  caffe::Caffe::set_mode(caffe::Caffe::CPU);
  return std::vector<layrub::Device*>(ranks ? 1 : SolversFlag());
}

/// Most published solvers ask for a GPU, so a CPU-only build trains them on the CPU. A GPU build
/// fails if there is no GPU, because training would take many times as long.
std::vector<layrub::Device*> UseCpuInsteadOfGpu() {
  const std::string why = "solver_mode: GPU asks for a GPU, and this build is for the CPU only";
  if (FLAGS_strict_mode) {
    Fail(why +
         ": set solver_mode: CPU, or leave out --strict_mode to train on the CPU all the same.");
  }
  LOG(WARNING) << why << ": training on the CPU (--strict_mode refuses that).";
  return UseCpu();
}

/// The GPU of this process. Each process on this machine has its own, of those that --gpu names or
/// of all.
int GpuOfRank(const std::vector<int>& named) {
  const size_t place = static_cast<size_t>(ranks->local_rank());
  const int gpus = named.empty() ? layrub::GpuCount() : static_cast<int>(named.size());
  if (gpus < ranks->local_size()) {
    Fail("mpirun has started " + std::to_string(ranks->local_size()) +
         " processes on this machine, and there are " + std::to_string(gpus) +
         " GPUs for them: start one process for each GPU, or name one for all with --gpu.");
  }
  return named.empty() ? static_cast<int>(place) : named[place];
}

std::string Names(const std::vector<int>& ids) {
  std::string names;
  for (int id : ids) names += (names.empty() ? "" : ", ") + std::to_string(id);
  return names;
}

}  // namespace

void SetRanks(const layrub::RankCommunicator* communicator) { ranks = communicator; }

int SolversFlag() {
  if (ranks) {
    if (FLAGS_cpu_solvers > 1)
      Fail("--cpu_solvers is for one process: each that mpirun starts has one solver.");
    return ranks->local_size();
  }
  const int gpus = static_cast<int>(GpusFlag().size());
  if (gpus > 0 && FLAGS_cpu_solvers > 1) Fail("--cpu_solvers is for the CPU: leave out --gpu.");
  const int solvers = std::max(gpus, FLAGS_cpu_solvers);
  if (FLAGS_cpu_solvers < 1 || solvers > kMostSolvers) {
    Fail((gpus > 0 ? "--gpu=" + FLAGS_gpu : "--cpu_solvers=" + std::to_string(FLAGS_cpu_solvers)) +
         ": 1 to " + std::to_string(kMostSolvers) + " solvers can train together.");
  }
  return solvers;
}

std::vector<layrub::Device*> ChooseDevices(DeviceKind kind, int default_gpu) {
  std::vector<int> ids = GpusFlag();
  if (ids.empty() && (kind == DeviceKind::kCpu || FLAGS_cpu_solvers > 1)) return UseCpu();
  if (ids.empty() && kind == DeviceKind::kGpuIfAny && layrub::GpuCount() == 0) {
    LOG(INFO) << "solver_mode is not set, and "
              << (!layrub::HasGpuBackend()
                      ? "this build is for the CPU only"
                      : "there is no GPU to use (" + layrub::NoGpuReason() + ")")
              << ": training on the CPU.";
    return UseCpu();
  }
  if (ids.empty() && !layrub::HasGpuBackend()) return UseCpuInsteadOfGpu();
  const std::string wanted = FLAGS_gpu.empty() ? "solver_mode: GPU" : "--gpu=" + FLAGS_gpu;
  if (layrub::GpuCount() == 0) {
    Fail(wanted + " asks for a GPU, and there is no GPU to use (" + layrub::NoGpuReason() +
         "). Leave out --gpu and set solver_mode: CPU.");
  }
  if (ranks && ids.size() != 1) ids = {GpuOfRank(ids)};
  if (ids.empty()) ids.push_back(default_gpu);
  std::vector<layrub::Device*> devices;
  for (int id : ids) {
    if (!caffe::Caffe::CheckDevice(id)) {
      Fail(wanted + ": there is no GPU " + std::to_string(id) + ", this machine's are 0 to " +
           std::to_string(layrub::GpuCount() - 1) + ".");
    }
    devices.push_back(&layrub::Gpu(id));
    LOG(INFO) << "GPU " << id << ": " << devices.back()->Name();
  }
  LOG(INFO) << "Using GPUs " << Names(ids);
  caffe::Caffe::SetDevice(ids[0]);
  caffe::Caffe::set_mode(caffe::Caffe::GPU);
  return devices;
}

layrub::Device* GpuFlag() {
  const std::vector<int> ids = GpusFlag();
  if (ids.empty()) return nullptr;
  if (!caffe::Caffe::CheckDevice(ids[0])) {
    Fail("--gpu=" + FLAGS_gpu + ": there is no GPU " + std::to_string(ids[0]) +
         " here to plan for; --machine names the kind that is meant, such as --machine=h100.");
  }
  return &layrub::Gpu(ids[0]);
}

void ChooseDevice(const std::string& command) {
  if (SolversFlag() > 1) Fail("'" + command + "' runs on one device: give --gpu one number.");
  ChooseDevices(DeviceKind::kCpu, 0);
}

}  // namespace layrub_tool
