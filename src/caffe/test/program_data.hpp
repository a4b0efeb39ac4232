#ifndef CAFFE_TEST_PROGRAM_DATA_HPP_
#define CAFFE_TEST_PROGRAM_DATA_HPP_

// Gives a net the data that a program would give it before training.
#include <vector>

#include "caffe/layers/memory_data_layer.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// Arrays for a MemoryData layer and values for Input layers. Labels are 0 to 3.
template <typename Dtype>
class ProgramData {
 public:
  static constexpr int kBatches = 4;

  /// Fills the inputs of `net`. The net may have one MemoryData layer, which reads kBatches batches
  /// from this object's arrays; the object must exist as long as the net is used.
  void Give(Net<Dtype>* net) {
    for (const auto& layer : net->layers()) {
      if (layer->layer_param().type() == "MemoryData") {
        Give(static_cast<MemoryDataLayer<Dtype>*>(layer.get()));
      }
    }
    for (Blob<Dtype>* input : net->input_blobs()) {
      const bool labels = input->num_axes() == 1;
      for (int i = 0; i < input->count(); ++i) {
        input->mutable_cpu_data()[i] =
            labels ? static_cast<Dtype>(i % 4) : static_cast<Dtype>(i % 13) / 6 - 1;
      }
    }
  }

 private:
  void Give(MemoryDataLayer<Dtype>* memory) {
    const int items = kBatches * memory->batch_size();
    data_.resize(items * memory->channels() * memory->height() * memory->width());
    labels_.resize(items);
    for (size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<Dtype>(i * i % 17) / 8 - 1;
    for (int i = 0; i < items; ++i) labels_[i] = static_cast<Dtype>(i % 4);
    memory->Reset(data_.data(), labels_.data(), items);
  }

  std::vector<Dtype> data_, labels_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_PROGRAM_DATA_HPP_
