#include <glog/logging.h>

#include <chrono>

#include "caffe/caffe.hpp"
#include "caffe/planned_net.hpp"
#include "layrub/activity.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/base/progress_line.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/device.hpp"
#include "layrub/flags.hpp"
#include "layrub/training_line.hpp"

namespace layrub_tool {

namespace {

/// Places the net, by default under liveness, since nobody reads its inner blobs. Sets `budget` to
/// the device budget in bytes.
layrub::Status Place(caffe::Net<float>* net, int64_t* budget) {
  caffe::PlacementParameter wanted;
  wanted.set_strategy("liveness");
  ApplyPlacementFlags(&wanted);
  layrub::Result<caffe::PlacementOptions> options = caffe::ToOptions(wanted);
  if (!options.ok()) return options.status();
  options.value().optimizations = DebugFlag();
  *budget = options.value().budget.device;
  const Activity activity("looking for a plan");
  layrub::Status status = net->Place(options.value());
  if (!status.ok()) return status;
  const layrub::Plan& plan = net->planned()->plan();
  LOG(INFO) << "Placement: " << plan.strategy << ", device "
            << layrub::FormatBytes(plan.device_bytes);
  return status;
}

/// "batch 12 of 50, 512 images/s, 8s left", after `batches` batches in `seconds`.
std::string TestText(const caffe::Net<float>& net, int batches, double seconds) {
  const double each = seconds / batches;
  return "batch " + std::to_string(batches) + " of " + std::to_string(FLAGS_iterations) +
         FormatRate(net, static_cast<double>(BatchSize(net)) / each) +
         FormatLeft(each * (FLAGS_iterations - batches));
}

}  // namespace

int RunTest(const std::vector<std::string>&) {
  Require("test", "model", FLAGS_model);
  Require("test", "weights", FLAGS_weights);
  if (FLAGS_iterations < 1) Fail("--iterations must be at least 1.");
  ChooseDevice("test");
  caffe::Net<float> net(NetOfFlags("test", caffe::TEST));
  for (const std::string& weights : SplitList(FLAGS_weights)) net.CopyTrainedLayersFrom(weights);

  int64_t budget = 0;
  const layrub::Status placed = Place(&net, &budget);
  if (!placed.ok()) return ExitCode(placed);

  LOG(INFO) << "Running for " << FLAGS_iterations << " iterations.";
  struct Score {
    int blob;
    float sum;
  };
  std::vector<Score> scores;  // one for each value of each output, summed over the batches
  float loss = 0;
  layrub::ProgressLine line;
  const auto start = std::chrono::steady_clock::now();
  for (int batch = 0; batch < FLAGS_iterations; ++batch) {
    float batch_loss;
    const auto& outputs = net.Forward(&batch_loss);
    loss += batch_loss;
    size_t next = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int blob = net.output_blob_indices()[i];
      for (int k = 0; k < outputs[i]->count(); ++k, ++next) {
        const float value = outputs[i]->cpu_data()[k];
        if (next == scores.size()) scores.push_back({blob, 0});
        scores[next].sum += value;
        LOG(INFO) << "Batch " << batch << ", " << net.blob_names()[blob] << " = " << value;
      }
    }
    if (!line.Due()) continue;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const int64_t device_bytes = net.planned() ? net.planned()->plan().device_bytes : 0;
    line.Show(TestText(net, batch + 1, seconds.count()) + FormatUse(device_bytes, budget));
  }
  LOG(INFO) << "Loss: " << loss / FLAGS_iterations;
  for (const Score& score : scores) {
    const float mean = score.sum / FLAGS_iterations;
    const float weight = net.blob_loss_weights()[score.blob];
    std::ostringstream loss_text;
    if (weight != 0) loss_text << " (* " << weight << " = " << weight * mean << " loss)";
    LOG(INFO) << net.blob_names()[score.blob] << " = " << mean << loss_text.str();
  }
  return kSuccess;
}

int RunDeviceQuery(const std::vector<std::string>&) {
  LOG(INFO) << "Querying GPUs " << (FLAGS_gpu.empty() ? "all" : FLAGS_gpu);
  if (FLAGS_gpu.empty() && layrub::GpuCount() > 0) FLAGS_gpu = "all";
  for (layrub::Device* device : ChooseDevices(DeviceKind::kCpu, 0)) {
    caffe::Caffe::UseDevice(device);
    caffe::Caffe::DeviceQuery();
  }
  return kSuccess;
}

}  // namespace layrub_tool
