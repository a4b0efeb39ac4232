#include "layrub/snapshot_file.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <map>

#include "caffe/blob.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/weights_file.hpp"
#include "layrub/base/input.hpp"
#include "layrub/commands.hpp"

namespace layrub_tool {

using caffe::BlobProto;
using caffe::LayerParameter;
using caffe::NetParameter;
using caffe::SolverState;

namespace {

constexpr char kHdf5Begins[] = "\x89HDF\r\n\x1a\n";
/// The first byte of a SolverState, the tag of its field 1, a number. Field 1 of a NetParameter is
/// a string and has another tag.
constexpr char kStateBegins = 0x08;

/// The first bytes of the file, enough to tell what it is. Empty for a pipe, which can be read only
/// once.
std::string Beginning(const std::string& path) {
  const layrub::Result<int> file = layrub::OpenToRead(path);
  if (!file.ok()) Fail(file.status().message);
  std::array<char, sizeof(kHdf5Begins) - 1> bytes;
  const ssize_t size = pread(file.value(), bytes.data(), bytes.size(), 0);
  close(file.value());
  return size > 0 ? std::string(bytes.data(), static_cast<size_t>(size)) : "";
}

#ifdef USE_HDF5

using caffe::Hdf5Handle;

template <typename Dtype>
void ReadValues(hid_t group, const std::string& name, BlobProto* proto) {
  caffe::Blob<Dtype> blob;
  caffe::hdf5_load_nd_dataset(group, name.c_str(), 0, kMaxBlobAxes, &blob, true);
  blob.ToProto(proto);
}

void ReadBlob(hid_t group, const std::string& name, BlobProto* proto) {
  const Hdf5Handle dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose, "dataset " + name);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose, "type of dataset " + name);
  if (H5Tget_size(type.id()) > sizeof(float)) {
    ReadValues<double>(group, name, proto);
  } else {
    ReadValues<float>(group, name, proto);
  }
}

/// Reads the datasets of a group, whose names are numbers. Missing numbers become empty blobs.
template <typename Blobs>
void ReadBlobs(hid_t parent, const std::string& name, Blobs* blobs) {
  constexpr int kMost = 1 << 16;
  const Hdf5Handle group(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, "group " + name);
  for (int i = 0; i < caffe::hdf5_get_num_links(group.id()); ++i) {
    const std::string dataset = caffe::hdf5_get_name_by_idx(group.id(), i);
    int number = -1;
    std::from_chars(dataset.data(), dataset.data() + dataset.size(), number);
    CHECK(std::to_string(number) == dataset && number >= 0 && number < kMost)
        << "HDF5 group " << name << " has a member " << dataset
        << ", which is not the number of a blob";
    while (blobs->size() <= number) blobs->Add();
    ReadBlob(group.id(), dataset, blobs->Mutable(number));
  }
}

SnapshotFile ReadHdf5(const std::string& path) {
  const caffe::FailureScope at_work(caffe::CurrentFile{path});
  const Hdf5Handle file(caffe::hdf5_open_file(path), H5Fclose, "file " + path);
  SnapshotFile snapshot;
  snapshot.hdf5 = true;
  if (caffe::hdf5_has(file.id(), "history")) {
    SolverState& state = snapshot.state.emplace();
    state.set_iter(caffe::hdf5_load_int(file.id(), "iter"));
    state.set_current_step(caffe::hdf5_load_int(file.id(), "current_step"));
    ReadBlobs(file.id(), "history", state.mutable_history());
    if (caffe::hdf5_has(file.id(), "resume")) {
      CHECK(state.mutable_resume()->ParseFromString(caffe::hdf5_load_bytes(file.id(), "resume")))
          << "HDF5 dataset resume cannot be read";
    }
    return snapshot;
  }
  CHECK(caffe::hdf5_has(file.id(), "data"))
      << "It is an HDF5 file, but holds neither weights (group 'data') "
         "nor a solver's state (group 'history').";
  const Hdf5Handle data(H5Gopen2(file.id(), "data", H5P_DEFAULT), H5Gclose, "group data");
  for (int i = 0; i < caffe::hdf5_get_num_links(data.id()); ++i) {
    LayerParameter* layer = snapshot.weights.add_layer();
    const std::string name = caffe::hdf5_get_name_by_idx(data.id(), i);
    layer->set_name(caffe::hdf5_unescape(name));
    ReadBlobs(data.id(), name, layer->mutable_blobs());
  }
  return snapshot;
}

#else

SnapshotFile ReadHdf5(const std::string& path) {
  Fail("Cannot read " + path + ": this build has no HDF5 (USE_HDF5=OFF).");
}

#endif

bool IsLeftOut(const BlobProto& blob) { return !blob.has_shape() && !blob.has_num(); }

}  // namespace

SnapshotFile ReadSnapshotFile(const std::string& path) {
  const std::string begin = Beginning(path);
  if (begin == kHdf5Begins) return ReadHdf5(path);
  SnapshotFile snapshot;
  if (begin.substr(0, 1) == std::string(1, kStateBegins)) {
    caffe::ReadProtoFromBinaryFileOrDie(path, &snapshot.state.emplace());
  } else {
    caffe::ReadWeightsFromBinaryFileOrDie(path, &snapshot.weights);
  }
  return snapshot;
}

void FillInShared(const NetParameter& binary, NetParameter* hdf5) {
  std::map<std::string, LayerParameter*> layers;
  for (LayerParameter& layer : *hdf5->mutable_layer()) layers[layer.name()] = &layer;
  std::map<std::string, const BlobProto*> owners;  // by values: what HDF5 has of them
  const auto each = [&](const auto& visit) {
    for (const LayerParameter& layer : binary.layer()) {
      const auto found = layers.find(layer.name());
      if (found == layers.end()) continue;
      auto* blobs = found->second->mutable_blobs();
      while (blobs->size() < layer.blobs_size()) blobs->Add();
      for (int i = 0; i < layer.blobs_size(); ++i) visit(layer.blobs(i), blobs->Mutable(i));
    }
  };
  each([&](const BlobProto& values, BlobProto* stored) {
    if (!IsLeftOut(*stored)) owners.emplace(values.SerializeAsString(), stored);
  });
  each([&](const BlobProto& values, BlobProto* stored) {
    const auto owner = owners.find(values.SerializeAsString());
    if (IsLeftOut(*stored) && owner != owners.end()) *stored = *owner->second;
  });
}

}  // namespace layrub_tool
