#ifdef USE_HDF5
#include "caffe/layers/hdf5_data_layer.hpp"

#include <algorithm>
#include <numeric>

#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/shape/permutation.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/hdf5_list.hpp"
#include "caffe/util/rng.hpp"
#include "dealing.hpp"
#include "fill_top.hpp"
#include "source_traits.hpp"

namespace caffe {

template <typename Dtype>
void HDF5DataLayer<Dtype>::LoadHDF5FileData(const char* filename) {
  const string& name = this->layer_param_.name();
  const FailureScope scope(filename);
  const Hdf5Handle file(hdf5_open_file(filename, "Layer " + name + ": "), H5Fclose, filename);
  hdf_blobs_.resize(this->layer_param_.top_size());
  for (size_t i = 0; i < hdf_blobs_.size(); ++i) {
    hdf_blobs_[i].reset(new Blob<Dtype>());
    hdf5_load_nd_dataset(file.id(), this->layer_param_.top(i).c_str(), 1, INT_MAX,
                         hdf_blobs_[i].get(), true);
    CHECK_EQ(hdf_blobs_[i]->shape(0), hdf_blobs_[0]->shape(0))
        << "Layer " << name << ": datasets " << this->layer_param_.top(0) << " and "
        << this->layer_param_.top(i) << " of " << filename << " have different numbers of rows.";
  }
  CHECK_GT(hdf_blobs_[0]->shape(0), 0) << "Layer " << name << ": " << filename << " has no rows.";
  data_permutation_.resize(hdf_blobs_[0]->shape(0));
  std::iota(data_permutation_.begin(), data_permutation_.end(), 0);
  if (this->layer_param_.hdf5_data_param().shuffle()) {
    shuffle(data_permutation_.begin(), data_permutation_.end());
  }
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& top) {
  const HDF5DataParameter& param = this->layer_param_.hdf5_data_param();
  const string& name = this->layer_param_.name();
  CHECK(!this->layer_param_.has_transform_param())
      << "Layer " << name << ": " << this->type() << " does not transform data.";
  CHECK_GT(static_cast<int>(param.batch_size()), 0)
      << "Layer " << name << ": batch_size must be 1 to 2147483647.";
  const int datasets = this->layer_param_.top_size();
  CHECK(datasets > 0 && datasets <= static_cast<int>(top.size()))
      << "Layer " << name << ": " << datasets << " datasets are named for " << top.size()
      << " tops; each dataset needs a top.";
  hdf_filenames_ = ReadHdf5List(param.source(), "Layer " + name + ": ");
  num_files_ = static_cast<unsigned int>(hdf_filenames_.size());
  LOG(INFO) << "Number of HDF5 files: " << num_files_;
  file_permutation_.resize(num_files_);
  std::iota(file_permutation_.begin(), file_permutation_.end(), 0);
  if (param.shuffle()) shuffle(file_permutation_.begin(), file_permutation_.end());
  current_file_ = 0;
  current_row_ = 0;
  LoadHDF5FileData(hdf_filenames_[file_permutation_[0]].c_str());
  staged_.clear();
  for (int i = 0; i < datasets; ++i) {
    vector<int> shape = hdf_blobs_[i]->shape();
    shape[0] = static_cast<int>(param.batch_size());
    top[i]->Reshape(shape);
    staged_.emplace_back(new Blob<Dtype>());
  }
}

template <typename Dtype>
MemoryTraits HDF5DataLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                          const vector<Blob<Dtype>*>& /*top*/,
                                          const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits = SourceTraits(this->layer_param_.top_size());
  traits.inherited = IsDerived(*this);
  return traits;
}

template <typename Dtype>
bool HDF5DataLayer<Dtype>::Skip() const {
  return BelongsToAnotherSolver(this->phase_, offset_);
}

template <typename Dtype>
int HDF5DataLayer<Dtype>::AdjacentRows(int most) const {
  const bool all = this->phase_ == TEST || Caffe::solver_count() == 1;
  const int end = std::min(current_row_ + (all ? most : 1), hdf_blobs_[0]->shape(0));
  int row = current_row_ + 1;
  while (row < end && data_permutation_[row] == data_permutation_[row - 1] + 1) ++row;
  return row - current_row_;
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::Next() {
  ++offset_;
  if (++current_row_ < hdf_blobs_[0]->shape(0)) return;
  current_row_ = 0;
  const bool shuffled = this->layer_param_.hdf5_data_param().shuffle();
  if (num_files_ == 1) {
    if (shuffled) shuffle(data_permutation_.begin(), data_permutation_.end());
    return;
  }
  if (++current_file_ == num_files_) {
    current_file_ = 0;
    if (shuffled) shuffle(file_permutation_.begin(), file_permutation_.end());
    DLOG(INFO) << "Looping around to first file.";
  }
  LoadHDF5FileData(hdf_filenames_[file_permutation_[current_file_]].c_str());
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::SaveProgress(LayerProgress* progress) const {
  for (const uint64_t number :
       {static_cast<uint64_t>(current_file_), static_cast<uint64_t>(current_row_), offset_,
        static_cast<uint64_t>(data_permutation_.size())})
    progress->add_position(number);
  if (!this->layer_param_.hdf5_data_param().shuffle()) return;
  for (const auto* order : {&file_permutation_, &data_permutation_})
    progress->mutable_order()->Add(order->begin(), order->end());
}

template <typename Dtype>
bool HDF5DataLayer<Dtype>::RestoreProgress(const LayerProgress& progress) {
  const auto& order = progress.order();
  const bool shuffled = this->layer_param_.hdf5_data_param().shuffle();
  if (progress.position_size() != 4) return false;
  const uint64_t file = progress.position(0), row = progress.position(1);
  const uint64_t rows = progress.position(3);
  if (file >= num_files_ || row >= rows || rows > INT_MAX ||
      static_cast<uint64_t>(order.size()) != (shuffled ? num_files_ + rows : 0))
    return false;
  const auto first_row = order.begin() + (shuffled ? static_cast<int>(num_files_) : 0);
  if (!IsPermutation(order.begin(), first_row) || !IsPermutation(first_row, order.end()))
    return false;
  if (shuffled) file_permutation_.assign(order.begin(), first_row);
  current_file_ = static_cast<unsigned int>(file);
  current_row_ = 0;
  offset_ = 0;
  const string& path = hdf_filenames_[file_permutation_[current_file_]];
  LoadHDF5FileData(path.c_str());
  if (data_permutation_.size() != rows) {
    LOG(WARNING) << "Layer " << this->layer_param_.name() << ": " << path << " has "
                 << data_permutation_.size() << " rows; it had " << rows
                 << " when the training that is resumed wrote its snapshot.";
    return false;
  }
  if (shuffled) data_permutation_.assign(first_row, order.end());
  current_row_ = static_cast<int>(row);
  offset_ = progress.position(2);
  return true;
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                     const vector<Blob<Dtype>*>& /*bottom*/,
                                     const vector<Blob<Dtype>*>& top) {
  const int rows = static_cast<int>(this->layer_param_.hdf5_data_param().batch_size());
  HostFeed* const feed = this->feed();
  const DeviceContext rows_on = feed ? DeviceContext() : context;
  vector<Dtype*> to;
  for (size_t i = 0; i < staged_.size(); ++i) {
    if (feed) staged_[i]->ReshapeLike(*top[i]);
    to.push_back(MutableData(rows_on, feed ? staged_[i].get() : top[i]));
  }
  for (int row = 0, run; row < rows; row += run) {
    while (Skip()) Next();
    run = AdjacentRows(rows - row);
    for (size_t i = 0; i < staged_.size(); ++i) {
      const int64_t width = top[i]->count(1);
      CHECK_EQ(width, hdf_blobs_[i]->count(1))
          << "Layer " << this->layer_param_.name() << ": rows of dataset "
          << this->layer_param_.top(i) << " in " << hdf_filenames_[file_permutation_[current_file_]]
          << " have another size than those of "
          << "the first file.";
      kernels::CopyFromHost(rows_on, run * width,
                            hdf_blobs_[i]->cpu_data() + data_permutation_[current_row_] * width,
                            to[i] + row * width);
    }
    for (int i = 0; i < run; ++i) Next();
  }
  for (size_t i = 0; feed && i < staged_.size(); ++i) FillTop(context, feed, *staged_[i], top[i]);
}

INSTANTIATE_CLASS(HDF5DataLayer);
REGISTER_LAYER_CLASS(HDF5Data);
REGISTER_NO_LAYER_AXES(HDF5Data, "every device reads the whole batch");

}  // namespace caffe
#endif  // USE_HDF5
