// Net: parameters to and from HDF5: /data/<layer>/<index of the parameter>, and /diff likewise. The
// names of layers are escaped (hdf5_escape) where they have to be.
#include "net_hdf5.hpp"

#include <memory>

#include "caffe/net.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/hdf5.hpp"

namespace caffe {

#ifdef USE_HDF5

namespace {

std::unique_ptr<Hdf5Handle> NewGroup(hid_t where, const string& name) {
  return std::make_unique<Hdf5Handle>(
      H5Gcreate2(where, hdf5_escape(name).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
      "a new HDF5 group for " + name);
}

}  // namespace

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  const FailureScope scope(trained_filename.c_str());
  const Hdf5Handle file(hdf5_open_file(trained_filename), H5Fclose, trained_filename);
  CHECK(hdf5_has(file.id(), "data"))
      << "Error reading weights from " << trained_filename << ": it has no group 'data'";
  const Hdf5Handle data(H5Gopen2(file.id(), "data", H5P_DEFAULT), H5Gclose,
                        "group 'data' of " + trained_filename);
  bool used = false;
  for (int i = 0; i < hdf5_get_num_links(data.id()); ++i) {
    const string group = hdf5_get_name_by_idx(data.id(), i);
    auto target = layer_names_index_.find(hdf5_unescape(group));
    if (target == layer_names_index_.end()) target = layer_names_index_.find(group);  // Caffe's
    if (target == layer_names_index_.end()) {
      LOG(INFO) << "Ignoring source layer " << hdf5_unescape(group);
      continue;
    }
    const string& source = target->first;
    auto& blobs = layers_[target->second]->blobs();
    const Hdf5Handle layer(H5Gopen2(data.id(), group.c_str(), H5P_DEFAULT), H5Gclose,
                           "the weights of layer " + source + " in " + trained_filename);
    CHECK_LE(hdf5_get_num_links(layer.id()), static_cast<int>(blobs.size()))
        << "Incompatible number of blobs for layer " << source;
    for (size_t j = 0; j < blobs.size(); ++j) {
      const string dataset = std::to_string(j);
      if (hdf5_has(layer.id(), dataset)) {
        hdf5_load_nd_dataset(layer.id(), dataset.c_str(), 0, kMaxBlobAxes, blobs[j].get());
        used = true;
        continue;
      }
      const int owner = param_owners_[param_id_vecs_[target->second][j]];
      CHECK_GE(owner, 0) << "Incompatible number of blobs for layer " << source << ": "
                         << trained_filename << " has no parameter " << j;
    }
  }
  LOG_IF(WARNING, !used && !params_.empty())
      << trained_filename << " has weights for no layer of this net, by name: parameters that no "
      << "other file gives stay as the fillers made them.";
}

template <typename Dtype>
void WriteNetToHdf5(const Net<Dtype>& net, bool write_diff, AtomicFile* file) {
  const auto write = [&](hid_t to) {
    const auto data = NewGroup(to, "data");
    const auto diff = write_diff ? NewGroup(to, "diff") : nullptr;
    size_t param = 0;  // in the order of layers
    for (size_t i = 0; i < net.layers().size(); ++i) {
      const auto layer_data = NewGroup(data->id(), net.layer_names()[i]);
      const auto layer_diff = diff ? NewGroup(diff->id(), net.layer_names()[i]) : nullptr;
      for (size_t j = 0; j < net.layers()[i]->blobs().size(); ++j, ++param) {
        if (net.param_owners()[param] >= 0) continue;  // stored with its owner
        const Blob<Dtype>& blob = *net.params()[param];
        hdf5_save_nd_dataset<Dtype>(layer_data->id(), std::to_string(j), blob);
        if (diff) hdf5_save_nd_dataset<Dtype>(layer_diff->id(), std::to_string(j), blob, true);
      }
    }
  };
  hdf5_write_file(write, file);
}

#else

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  LOG(FATAL) << "Cannot read " << trained_filename << ": this build has no HDF5 (USE_HDF5=OFF).";
}

template <typename Dtype>
void WriteNetToHdf5(const Net<Dtype>&, bool, AtomicFile* file) {
  file->Fail("this build has no HDF5 (USE_HDF5=OFF).");
}

#endif

template <typename Dtype>
void Net<Dtype>::ToHDF5(const string& filename, bool write_diff) const {
  AtomicFile file(filename);
  WriteNetToHdf5(*this, write_diff, &file);
  file.Commit();
}

#define INSTANTIATE_HDF5(Dtype)                                       \
  template void Net<Dtype>::CopyTrainedLayersFromHDF5(const string&); \
  template void Net<Dtype>::ToHDF5(const string&, bool) const;        \
  template void WriteNetToHdf5(const Net<Dtype>&, bool, AtomicFile*)
INSTANTIATE_HDF5(float);
INSTANTIATE_HDF5(double);

}  // namespace caffe
