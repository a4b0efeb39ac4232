#ifndef CAFFE_HDF5_DATA_LAYER_HPP_
#define CAFFE_HDF5_DATA_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layer.hpp"
#ifdef USE_HDF5
#include <hdf5.h>
#endif

namespace caffe {

/// Reads batches of rows from HDF5 files, in order or shuffled; after the last file comes the
/// first. The source is a text file that names one HDF5 file per line. Each top holds the dataset
/// of its name. Tops beyond those named, which a program may pass to the layer, are left unchanged.
/// One file at a time is held in host memory.
template <typename Dtype>
class HDF5DataLayer : public Layer<Dtype> {
 public:
  explicit HDF5DataLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual ~HDF5DataLayer() {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
                       const vector<Blob<Dtype>*>& /*top*/) {}
  virtual inline const char* type() const { return "HDF5Data"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int MinTopBlobs() const { return 1; }
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;
  /// Saves the current file and row, the number of calls of Next, the number of rows in the file
  /// and, with shuffling, the orders of files and rows. Shuffling uses the thread's random stream.
  virtual void SaveProgress(LayerProgress* progress) const;
  virtual bool RestoreProgress(const LayerProgress& progress);

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& /*top*/,
                          const vector<bool>& /*propagate_down*/,
                          const vector<Blob<Dtype>*>& /*bottom*/) {}

  /// Moves to the next row; after the last row, to the next file.
  void Next();
  /// Whether the current row belongs to another of several solvers.
  bool Skip() const;
  /// How many of the next rows, up to `most`, are adjacent in the file.
  int AdjacentRows(int most) const;
  virtual void LoadHDF5FileData(const char* filename);

  std::vector<std::string> hdf_filenames_;
  unsigned int num_files_;
  unsigned int current_file_;
  int current_row_;
  std::vector<shared_ptr<Blob<Dtype>>> hdf_blobs_;
  std::vector<shared_ptr<Blob<Dtype>>> staged_;  ///< for a feed: a copy of the batch
  std::vector<unsigned int> data_permutation_;
  std::vector<unsigned int> file_permutation_;
  uint64_t offset_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_HDF5_DATA_LAYER_HPP_
