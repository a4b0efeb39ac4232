#include "caffe/kernels/engines.hpp"

#include <algorithm>
#include <memory>

#include "caffe/kernels/library_kernels.hpp"
#include "caffe/syncedmem.hpp"
#include "caffe/util/algorithm_table.hpp"
#include "caffe/util/benchmark.hpp"
#include "caffe/util/library_settings.hpp"

namespace caffe {
namespace kernels {
namespace {

constexpr int kMeasurements = 3, kCalls = 10;

const Algorithm* Named(const AlgorithmTable& table, const std::string& name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Algorithm& algorithm) {
    return algorithm.name == name;
  });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

double SecondsOf(const std::function<bool()>& run) {
  if (!run()) return 0;
  double least = 0;
  for (int i = 0; i < kMeasurements; ++i) {
    Timer timer;
    timer.Start();
    for (int call = 0; call < kCalls; ++call) run();
    const double seconds = std::max(timer.MicroSeconds() / 1e6 / kCalls, 1e-9);
    if (i == 0 || seconds < least) least = seconds;
  }
  return least;
}

std::vector<Algorithm> ChooseEngines(const std::string& what, std::vector<Algorithm> engines,
                                     AlgorithmCache* cache, bool measure,
                                     const std::function<double(const Algorithm&)>& seconds) {
  AlgorithmTable times;
  // A table with only our kernel means that the library could not do this when it was measured.
  if (!cache->Find(what, &times) || !Named(times, kOwn)) {
    if (!measure) return {};
    times = engines;
    for (Algorithm& engine : times) engine.seconds = seconds(engine);
    std::erase_if(times, [](const Algorithm& engine) { return !(engine.seconds > 0); });
    cache->Store(what, times);
  }
  AlgorithmTable known;
  for (Algorithm& engine : engines) {
    const Algorithm* const measured = Named(times, engine.name);
    if (!measured) continue;
    engine.seconds = measured->seconds;
    known.push_back(engine);
  }
  const AlgorithmTable best = Combine({known});
  return best.size() == 1 && best[0].name == kOwn ? AlgorithmTable() : best;
}

template <typename Dtype>
std::vector<Algorithm> ChooseRival(const DeviceContext& context, const Rivals<Dtype>& rivals) {
  AlgorithmCache* const cache = LibraryTimes(context);
  if (!cache) return {};
  const auto seconds = [&](const Algorithm& engine) {
    SyncedMemory memory(std::max<size_t>(engine.bytes, 1));
    const AlgorithmRun chosen{memory.mutable_gpu_data(), engine.name};
    std::vector<std::unique_ptr<SyncedMemory>> owners;
    std::vector<Dtype*> operands;
    for (const int64_t values : rivals.operands) {
      owners.push_back(std::make_unique<SyncedMemory>(values * sizeof(Dtype)));
      operands.push_back(static_cast<Dtype*>(owners.back()->mutable_gpu_data()));
    }
    return SecondsOf([&] { return rivals.run(chosen, operands); });
  };
  const Algorithm own{kOwn, rivals.own_bytes}, library{kCudnn, rivals.library_bytes};
  return ChooseEngines(rivals.what + (sizeof(Dtype) == sizeof(float) ? " float" : " double"),
                       {own, library}, cache, library_settings().measure, seconds);
}

template std::vector<Algorithm> ChooseRival(const DeviceContext&, const Rivals<float>&);
template std::vector<Algorithm> ChooseRival(const DeviceContext&, const Rivals<double>&);

}  // namespace kernels
}  // namespace caffe
