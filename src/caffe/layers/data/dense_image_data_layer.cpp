#include "caffe/layers/dense_image_data_layer.hpp"

#include "caffe/layers/fork_type.hpp"
#include "caffe/util/io.hpp"
#include "own_items.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgproc/imgproc.hpp>
#endif

namespace caffe {

namespace {

/// The same parameters as an ImageData layer has them.
LayerParameter AsImageData(const LayerParameter& param) {
  const DenseImageDataParameter& dense = param.dense_image_data_param();
  LayerParameter result = param;
  ImageDataParameter* const images = result.mutable_image_data_param();
  images->set_source(dense.source());
  images->set_batch_size(dense.batch_size());
  images->set_rand_skip(dense.rand_skip());
  images->set_shuffle(dense.shuffle());
  images->set_new_height(dense.new_height());
  images->set_new_width(dense.new_width());
  images->set_is_color(dense.is_color());
  images->set_root_folder(dense.root_folder());
  TransformationParameter* const transform = result.mutable_transform_param();
  if (dense.mirror()) transform->set_mirror(true);
  if (dense.crop_height() > 0) transform->set_crop_h(dense.crop_height());
  if (dense.crop_width() > 0) transform->set_crop_w(dense.crop_width());
  return result;
}

}  // namespace

template <typename Dtype>
DenseImageDataLayer<Dtype>::DenseImageDataLayer(const LayerParameter& param)
    : ImageDataLayer<Dtype>(AsImageData(param)) {}

template <typename Dtype>
DenseImageDataLayer<Dtype>::~DenseImageDataLayer() {
  this->StopInternalThread();
}

template <typename Dtype>
vector<ListedImage> DenseImageDataLayer<Dtype>::List() const {
  vector<string> labels;
  return ReadImagePairs(this->layer_param_.image_data_param().source(),
                        "Layer " + this->layer_param_.name() + ": ", &labels);
}

#ifdef USE_OPENCV

template <typename Dtype>
void DenseImageDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                const vector<Blob<Dtype>*>& top) {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const TransformationParameter& transform = this->layer_param_.transform_param();
  const string what = "Layer " + this->layer_param_.name() + ": ";
  CHECK(!transform.has_resize_param() && !transform.has_expand_param() &&
        transform.img_rand_resize_upper() == 0)
      << what << "labels cannot follow an image that transform_param resizes or expands: use "
      << "new_height and new_width of dense_image_data_param.";
  labels_.clear();
  ReadImagePairs(param.source(), what, &labels_);
  ImageDataLayer<Dtype>::DataLayerSetUp(bottom, top);
  const vector<int> shape = {top[0]->shape(0), 1, top[0]->shape(2), top[0]->shape(3)};
  top[1]->Reshape(shape);
  for (const auto& batch : this->prefetch_) batch->label_.Reshape(shape);
}

template <typename Dtype>
void DenseImageDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const int batch_size = static_cast<int>(this->layer_param_.image_data_param().batch_size());
  this->workers_->Run(batch_size, [=, this](int i) -> BatchWorkers::Work {
    while (this->Skip()) this->Next();
    const auto& [path, label] = this->lines_[this->lines_id_];
    BatchWorkers::Work work = [this, batch, i, path = path, label = labels_[label]] {
      LoadItem(i, path, label, batch);
    };
    this->Next();
    return work;
  });
}

/// Reads the label image `label` of the image `path`: one label per pixel.
template <typename Dtype>
cv::Mat DenseImageDataLayer<Dtype>::LabelsOf(const string& path, const string& label) const {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const cv::Mat read = ReadImageToCVMat(param.root_folder() + label, false);
  CHECK(!read.empty()) << this->Name(path) << ": its label " << label << " cannot be read.";
  if (param.new_height() == 0) return read;
  cv::Mat resized;
  cv::resize(read, resized,
             cv::Size(static_cast<int>(param.new_width()), static_cast<int>(param.new_height())), 0,
             0, cv::INTER_NEAREST);
  return resized;
}

template <typename Dtype>
void DenseImageDataLayer<Dtype>::LoadItem(int item, const string& path, const string& label,
                                          Batch<Dtype>* batch) {
  DataTransformer<Dtype>& transformer = *this->data_transformer_;
  const int batch_size = static_cast<int>(this->layer_param_.image_data_param().batch_size());
  cv::Mat image = this->Image(path);
  const cv::Mat labels = LabelsOf(path, label);
  CHECK(labels.rows == image.rows && labels.cols == image.cols)
      << this->Name(path) << " of " << image.rows << " x " << image.cols << ": its label " << label
      << " of " << labels.rows << " x " << labels.cols << " has another size.";
  typename DataTransformer<Dtype>::Window window;
  Dtype *pixels = nullptr, *classes = nullptr;
  this->workers_->InOrder(item, [&] {
    Blob<Dtype>& data = batch->data_;
    CHECK(this->GiveShape(item == 0, batch_size, transformer.InferBlobShape(image), &data))
        << this->Name(path) << " of " << image.rows << " x " << image.cols
        << " does not fit into a batch of shape " << data.shape_string()
        << "; images must have one size, unless new_height and new_width or crop_height and "
           "crop_width give them one.";
    window = transformer.Draw(&image);
    batch->label_.Reshape({data.shape(0), 1, data.shape(2), data.shape(3)});
    pixels = data.mutable_cpu_data() + data.offset({item});
    classes = batch->label_.mutable_cpu_data() + batch->label_.offset({item});
  });
  transformer.Write(image, window, pixels);
  for (int h = 0; h < window.height; ++h) {
    const uchar* const row = labels.ptr<uchar>(window.h_off + h) + window.w_off;
    for (int w = 0; w < window.width; ++w)
      *classes++ = static_cast<Dtype>(row[window.mirror ? window.width - 1 - w : w]);
  }
}

#else  // USE_OPENCV

template <typename Dtype>
void DenseImageDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                const vector<Blob<Dtype>*>& top) {
  ImageDataLayer<Dtype>::DataLayerSetUp(bottom, top);
}

template <typename Dtype>
void DenseImageDataLayer<Dtype>::load_batch(Batch<Dtype>* /*batch*/) {}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(DenseImageDataLayer);
REGISTER_FORK_LAYER_CLASS(DenseImageData);
REGISTER_LAYER_AXES(DenseImageData, SourceRule);

}  // namespace caffe
