#ifndef CAFFE_CROP_LAYER_HPP_
#define CAFFE_CROP_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct Box;
}

/// Crops the first bottom to the size of the second, in all axes from crop_param.axis on. `offset`
/// says where the crop begins: one value for all of these axes, or one each; default 0. The second
/// bottom only gives a shape; its values are not read and it gets no gradient.
template <typename Dtype>
class CropLayer : public Layer<Dtype> {
 public:
  explicit CropLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "Crop"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

 private:
  /// Where the crop begins along axis `axis` of the bottom.
  int64_t Offset(int axis) const;
  /// The part of the bottom that becomes the top.
  kernels::Box CutOut(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const;

  int crop_axis_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_CROP_LAYER_HPP_
