// Net: parameters to and from HDF5: /data/<layer>/<index of the parameter>, and /diff likewise.
#include <algorithm>

#include "caffe/net.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/hdf5.hpp"

namespace caffe {

#ifdef USE_HDF5

namespace {

/// A group that closes itself.
class Group {
 public:
  explicit Group(hid_t id) : id_(id) {}
  ~Group() {
    if (id_ >= 0) H5Gclose(id_);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  hid_t id() const { return id_; }

 private:
  hid_t id_;
};

hid_t NewGroup(hid_t where, const string& name) {
  const hid_t id = H5Gcreate2(where, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK_GE(id, 0) << "Cannot create HDF5 group " << name;
  return id;
}

}  // namespace

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  const hid_t file = hdf5_open_file(trained_filename);
  {
    CHECK_GT(H5Lexists(file, "data", H5P_DEFAULT), 0)
        << "Error reading weights from " << trained_filename << ": it has no group 'data'";
    const Group data(H5Gopen2(file, "data", H5P_DEFAULT));
    for (int i = 0; i < hdf5_get_num_links(data.id()); ++i) {
      const string source = hdf5_get_name_by_idx(data.id(), i);
      const auto target = layer_names_index_.find(source);
      if (target == layer_names_index_.end()) {
        LOG(INFO) << "Ignoring source layer " << source;
        continue;
      }
      auto& blobs = layers_[target->second]->blobs();
      const Group layer(H5Gopen2(data.id(), source.c_str(), H5P_DEFAULT));
      CHECK_GE(layer.id(), 0) << "Error reading weights of layer " << source << " from "
                              << trained_filename;
      CHECK_LE(hdf5_get_num_links(layer.id()), static_cast<int>(blobs.size()))
          << "Incompatible number of blobs for layer " << source;
      for (size_t j = 0; j < blobs.size(); ++j) {
        const string dataset = std::to_string(j);
        if (H5Lexists(layer.id(), dataset.c_str(), H5P_DEFAULT) > 0) {
          hdf5_load_nd_dataset(layer.id(), dataset.c_str(), 0, kMaxBlobAxes, blobs[j].get());
          continue;
        }
        const int owner = param_owners_[param_id_vecs_[target->second][j]];
        CHECK_GE(owner, 0) << "Incompatible number of blobs for layer " << source << ": "
                           << trained_filename << " has no parameter " << j;
      }
    }
  }
  H5Fclose(file);
}

template <typename Dtype>
void Net<Dtype>::ToHDF5(const string& filename, bool write_diff) const {
  const hid_t file = H5Fcreate(filename.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK_GE(file, 0) << "Couldn't open " << filename << " to save weights.";
  {
    const Group data(NewGroup(file, "data"));
    const Group diff(write_diff ? NewGroup(file, "diff") : hid_t(-1));
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Group layer_data(NewGroup(data.id(), layer_names_[i]));
      const Group layer_diff(write_diff ? NewGroup(diff.id(), layer_names_[i]) : hid_t(-1));
      for (size_t j = 0; j < layers_[i]->blobs().size(); ++j) {
        const int param = param_id_vecs_[i][j];
        if (param_owners_[param] >= 0) continue;  // stored with its owner
        hdf5_save_nd_dataset<Dtype>(layer_data.id(), std::to_string(j), *params_[param]);
        if (write_diff)
          hdf5_save_nd_dataset<Dtype>(layer_diff.id(), std::to_string(j), *params_[param], true);
      }
    }
  }
  H5Fclose(file);
}

#else

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  LOG(FATAL) << "Cannot read " << trained_filename << ": this build has no HDF5 (USE_HDF5=OFF).";
}

template <typename Dtype>
void Net<Dtype>::ToHDF5(const string& filename, bool) const {
  LOG(FATAL) << "Cannot write " << filename << ": this build has no HDF5 (USE_HDF5=OFF).";
}

#endif

#define INSTANTIATE_HDF5(Dtype)                                       \
  template void Net<Dtype>::CopyTrainedLayersFromHDF5(const string&); \
  template void Net<Dtype>::ToHDF5(const string&, bool) const
INSTANTIATE_HDF5(float);
INSTANTIATE_HDF5(double);

}  // namespace caffe
