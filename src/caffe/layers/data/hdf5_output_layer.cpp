#ifdef USE_HDF5
#include "caffe/layers/hdf5_output_layer.hpp"

#include <filesystem>

#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/hdf5.hpp"

namespace caffe {

template <typename Dtype>
HDF5OutputLayer<Dtype>::~HDF5OutputLayer() {
  Close();
}

template <typename Dtype>
void HDF5OutputLayer<Dtype>::Close() {
  if (file_opened_) H5Fclose(file_id_);
  file_opened_ = false;
}

template <typename Dtype>
void HDF5OutputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                        const vector<Blob<Dtype>*>& /*top*/) {
  file_name_ = this->layer_param_.hdf5_output_param().file_name();
  Close();
}

template <typename Dtype>
void HDF5OutputLayer<Dtype>::Open() {
  if (file_opened_) return;
  std::error_code unknown;
  CHECK(!std::filesystem::is_fifo(file_name_, unknown))
      << "Layer " << this->layer_param_.name() << ": '" << file_name_
      << "' is a pipe; an HDF5 file cannot be written to a pipe.";
  const string link = WhyLinkIsRefused(file_name_);
  CHECK(link.empty()) << "Layer " << this->layer_param_.name() << ": Cannot write " << file_name_
                      << ": " << link << ". Remove it, or name another file.";
  file_id_ = H5Fcreate(file_name_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK_GE(file_id_, 0) << "Layer " << this->layer_param_.name() << ": Failed to open HDF5 file '"
                        << file_name_ << "' for writing.";
  file_opened_ = true;
}

template <typename Dtype>
void HDF5OutputLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& /*top*/) {
  const auto items = [](const Blob<Dtype>& blob) {
    return blob.num_axes() > 0 ? blob.shape(0) : 1;
  };
  CHECK_EQ(items(*bottom[0]), items(*bottom[1]))
      << "Layer " << this->layer_param_.name() << ": bottom 0, shape " << bottom[0]->shape_string()
      << ", must have as many items as bottom 1, shape " << bottom[1]->shape_string() << ".";
}

template <typename Dtype>
MemoryTraits HDF5OutputLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                            const vector<Blob<Dtype>*>& /*top*/,
                                            const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.repeatable = false;
  traits.forward.reads = {BottomData(0), BottomData(1)};
  return traits;
}

template <typename Dtype>
void HDF5OutputLayer<Dtype>::Save(const char* dataset, const Blob<Dtype>& blob) {
  if (H5Lexists(file_id_, dataset, H5P_DEFAULT) > 0) {
    CHECK_GE(H5Ldelete(file_id_, dataset, H5P_DEFAULT), 0)
        << "Layer " << this->layer_param_.name() << ": Failed to replace dataset " << dataset
        << " of '" << file_name_ << "'.";
  }
  vector<int> shape = blob.shape();
  if (shape.size() < 4) shape.resize(4, 1);
  Blob<Dtype> shown(shape);
  shown.ShareData(blob);
  hdf5_save_nd_dataset(file_id_, dataset, shown);
}

template <typename Dtype>
void HDF5OutputLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& /*top*/) {
  Open();
  Save(HDF5_DATA_DATASET_NAME, *bottom[0]);
  Save(HDF5_DATA_LABEL_NAME, *bottom[1]);
  CHECK_GE(H5Fflush(file_id_, H5F_SCOPE_LOCAL), 0)
      << "Layer " << this->layer_param_.name() << ": Failed to write to '" << file_name_ << "'.";
}

INSTANTIATE_CLASS(HDF5OutputLayer);
REGISTER_LAYER_CLASS(HDF5Output);
REGISTER_NO_LAYER_AXES(HDF5Output, "it writes whole blobs");

}  // namespace caffe
#endif  // USE_HDF5
