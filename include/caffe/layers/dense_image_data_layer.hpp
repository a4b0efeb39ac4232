#ifndef CAFFE_DENSE_IMAGE_DATA_LAYER_HPP_
#define CAFFE_DENSE_IMAGE_DATA_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/image_data_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Reads batches of images and of their label images, in which the value of a pixel is its class
/// (SegNet, V. Badrinarayanan et al., 2015). A text file lists both, "image label" on each line;
/// paths must not contain blanks. Tops: images, N x C x H x W, and labels, N x 1 x H x W.
///
/// Order, paths and sizes are as in ImageData; labels are resized by nearest neighbour. `mirror`,
/// `crop_height` and `crop_width`, here or in transform_param, apply to an image and its labels
/// alike; mean and scale apply to the image alone. Other options that move pixels are rejected.
///
/// Needs USE_OPENCV.
template <typename Dtype>
class DenseImageDataLayer : public ImageDataLayer<Dtype> {
 public:
  explicit DenseImageDataLayer(const LayerParameter& param);
  ~DenseImageDataLayer() override;
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "DenseImageData"; }

 protected:
  vector<ListedImage> List() const override;
  void load_batch(Batch<Dtype>* batch) override;

 private:
  cv::Mat LabelsOf(const string& path, const string& label) const;
  void LoadItem(int item, const string& path, const string& label, Batch<Dtype>* batch);

  vector<string> labels_;  ///< paths; an image's label in lines_ is an index into them
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_DENSE_IMAGE_DATA_LAYER_HPP_
