#ifndef CAFFE_HDF5_OUTPUT_LAYER_HPP_
#define CAFFE_HDF5_OUTPUT_LAYER_HPP_

#ifdef USE_HDF5
#include <hdf5.h>

#include <string>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

#define HDF5_DATA_DATASET_NAME "data"
#define HDF5_DATA_LABEL_NAME "label"

/// Writes its two bottoms to hdf5_output_param.file_name, as the datasets "data" and "label", of at
/// least four axes each. The first forward creates the file, so a net that is only planned leaves
/// an older file alone. After each forward the file holds the values of that forward. Has no
/// backward; its gradients are zero.
template <typename Dtype>
class HDF5OutputLayer : public Layer<Dtype> {
 public:
  explicit HDF5OutputLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  ~HDF5OutputLayer() override;
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "HDF5Output"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 0; }

  std::string file_name() const { return file_name_; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& /*top*/, const vector<bool>& /*propagate_down*/,
                    const vector<Blob<Dtype>*>& /*bottom*/) override {}

  bool file_opened_ = false;
  std::string file_name_;
  hid_t file_id_ = -1;

 private:
  void Save(const char* dataset, const Blob<Dtype>& blob);
  void Open();
  void Close();
};

}  // namespace caffe
#endif  // USE_HDF5

#endif  // CAFFE_HDF5_OUTPUT_LAYER_HPP_
