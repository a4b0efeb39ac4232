#include "net_weights.hpp"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <memory>

#include "caffe/util/atomic_file.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/weights_file.hpp"

namespace caffe {

namespace {

template <typename Dtype>
void WarnOfUnusedWeights(const string& file, const Net<Dtype>& net) {
  LOG_IF(WARNING, !net.params().empty())
      << file << " has weights for no layer of this net, by name: parameters that no other file "
      << "contains keep the values of their fillers.";
}

}  // namespace

template <typename Dtype>
void CopyWeights(const NetParameter& from, Net<Dtype>* net) {
  for (const LayerParameter& source : from.layer()) {
    if (!net->has_layer(source.name())) {
      LOG(INFO) << "Ignoring source layer " << source.name();
      continue;
    }
    Layer<Dtype>& target = *net->layer_by_name(source.name());
    const FailureScope scope(target.layer_param());
    auto& blobs = target.blobs();
    CHECK(static_cast<int>(blobs.size()) == source.blobs_size())
        << "Incompatible number of blobs for layer " << source.name() << ": the net's layer has "
        << blobs.size() << ", the copied one " << source.blobs_size() << ".";
    for (size_t j = 0; j < blobs.size(); ++j) {
      if (!blobs[j]->ShapeEquals(source.blobs(j))) {
        Blob<Dtype> stored;
        stored.FromProto(source.blobs(j), true);
        LOG(FATAL) << "Cannot copy param " << j << " weights from layer '" << source.name()
                   << "'; shape mismatch.  Source param shape is " << stored.shape_string()
                   << "; target param shape is " << blobs[j]->shape_string() << ". "
                   << "To learn this layer's parameters from scratch rather than copying from a "
                      "saved net, rename the "
                      "layer.";
      }
      blobs[j]->FromProto(source.blobs(j), false);
    }
  }
}

template <typename Dtype>
void CopyWeightsOfFile(const string& file, Net<Dtype>* net) {
  const FailureScope scope{CurrentFile{file}};
  const bool hdf5 = boost::ends_with(file, ".h5");
  CHECK(!boost::ends_with(file, ".solverstate") && !boost::ends_with(file, ".solverstate.h5"))
      << "Cannot take weights from " << file
      << ": it holds the state of a solver. Give the .caffemodel file written beside it, or resume "
      << "that run with --snapshot.";
  if (hdf5) {
    CopyWeightsOfHdf5File(file, net);
  } else {
    CopyWeightsOfBinaryFile(file, net);
  }
}

template <typename Dtype>
void CopyWeightsOfBinaryFile(const string& file, Net<Dtype>* net) {
  NetParameter param;
  ReadWeightsFromBinaryFileOrDie(file, &param);
  CopyWeights(param, net);
  const bool used =
      std::any_of(param.layer().begin(), param.layer().end(), [&](const LayerParameter& layer) {
        return layer.blobs_size() > 0 && net->has_layer(layer.name());
      });
  if (!used) WarnOfUnusedWeights(file, *net);
}

#ifdef USE_HDF5

namespace {

std::unique_ptr<Hdf5Handle> NewGroup(hid_t where, const string& name) {
  return std::make_unique<Hdf5Handle>(
      H5Gcreate2(where, hdf5_escape(name).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
      "a new HDF5 group for " + name);
}

/// Whether the parameter is owned by another layer.
template <typename Dtype>
bool IsShared(const Net<Dtype>& net, const Blob<Dtype>& param) {
  for (size_t i = 0; i < net.params().size(); ++i) {
    if (net.params()[i].get() == &param) return net.param_owners()[i] >= 0;
  }
  return false;
}

}  // namespace

template <typename Dtype>
void CopyWeightsOfHdf5File(const string& name, Net<Dtype>* net) {
  const FailureScope scope(name.c_str());
  const Hdf5Handle file(hdf5_open_file(name), H5Fclose, name);
  CHECK(hdf5_has(file.id(), "data"))
      << "Error reading weights from " << name << ": it has no group 'data'";
  const Hdf5Handle data(H5Gopen2(file.id(), "data", H5P_DEFAULT), H5Gclose,
                        "group 'data' of " + name);
  bool used = false;
  for (int i = 0; i < hdf5_get_num_links(data.id()); ++i) {
    const string group = hdf5_get_name_by_idx(data.id(), i);
    string source = hdf5_unescape(group);
    if (!net->has_layer(source)) source = group;  // Caffe does not escape names
    if (!net->has_layer(source)) {
      LOG(INFO) << "Ignoring source layer " << hdf5_unescape(group);
      continue;
    }
    auto& blobs = net->layer_by_name(source)->blobs();
    const Hdf5Handle layer(H5Gopen2(data.id(), group.c_str(), H5P_DEFAULT), H5Gclose,
                           "the weights of layer " + source + " in " + name);
    CHECK_LE(hdf5_get_num_links(layer.id()), static_cast<int>(blobs.size()))
        << "Incompatible number of blobs for layer " << source;
    for (size_t j = 0; j < blobs.size(); ++j) {
      const string dataset = std::to_string(j);
      if (hdf5_has(layer.id(), dataset)) {
        hdf5_load_nd_dataset(layer.id(), dataset.c_str(), 0, kMaxBlobAxes, blobs[j].get());
        used = true;
        continue;
      }
      CHECK(IsShared(*net, *blobs[j])) << "Incompatible number of blobs for layer " << source
                                       << ": " << name << " has no parameter " << j;
    }
  }
  if (!used) WarnOfUnusedWeights(name, *net);
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
void CopyWeightsOfHdf5File(const string& name, Net<Dtype>*) {
  LOG(FATAL) << "Cannot read " << name << ": this build has no HDF5 (USE_HDF5=OFF).";
}

template <typename Dtype>
void WriteNetToHdf5(const Net<Dtype>&, bool, AtomicFile* file) {
  file->Fail("this build has no HDF5 (USE_HDF5=OFF).");
}

#endif

#define INSTANTIATE(Dtype)                                           \
  template void CopyWeights(const NetParameter&, Net<Dtype>*);       \
  template void CopyWeightsOfFile(const string&, Net<Dtype>*);       \
  template void CopyWeightsOfBinaryFile(const string&, Net<Dtype>*); \
  template void CopyWeightsOfHdf5File(const string&, Net<Dtype>*);   \
  template void WriteNetToHdf5(const Net<Dtype>&, bool, AtomicFile*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace caffe
