#include <glog/logging.h>

#include "caffe/caffe.hpp"
#include "caffe/planned_net.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/device.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {

namespace {

/// Nobody reads the net's inner blobs: their memory may be used again.
layrub::Status Place(caffe::Net<float>* net) {
  caffe::PlacementParameter wanted;
  wanted.set_strategy("liveness");
  ApplyPlacementFlags(&wanted);
  const layrub::Result<caffe::PlacementOptions> options = caffe::ToOptions(wanted);
  if (!options.ok()) return options.status();
  layrub::Status status = net->Place(options.value());
  if (!status.ok()) return status;
  const layrub::Plan& plan = net->planned()->plan();
  LOG(INFO) << "Placement: " << plan.strategy << ", device "
            << layrub::FormatBytes(plan.device_bytes);
  return status;
}

}  // namespace

int Test(const std::vector<std::string>&) {
  Require("test", "model", FLAGS_model);
  Require("test", "weights", FLAGS_weights);
  if (FLAGS_iterations < 1) Fail("--iterations must be at least 1.");
  ChooseDevice("test");
  caffe::Net<float> net(NetOfFlags("test", caffe::TEST));
  for (const std::string& weights : SplitList(FLAGS_weights)) net.CopyTrainedLayersFrom(weights);

  const layrub::Status placed = Place(&net);
  if (!placed.ok()) return ExitCode(placed);

  LOG(INFO) << "Running for " << FLAGS_iterations << " iterations.";
  struct Score {
    int blob;
    float sum;
  };
  std::vector<Score> scores;  // one for each value of each output, summed over the batches
  float loss = 0;
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

int DeviceQuery(const std::vector<std::string>&) {
  LOG(INFO) << "Querying GPUs " << (FLAGS_gpu.empty() ? "all" : FLAGS_gpu);
  if (FLAGS_gpu.empty() && layrub::GpuCount() > 0) FLAGS_gpu = "all";
  for (layrub::Device* device : ChooseDevices(false, 0)) {
    caffe::Caffe::UseDevice(device);
    caffe::Caffe::DeviceQuery();
  }
  return kSuccess;
}

}  // namespace layrub_tool
