// Net: parameters to and from other nets, messages and files.
#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <map>

#include "caffe/net.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/weights_file.hpp"

namespace caffe {

template <typename Dtype>
void Net<Dtype>::ShareTrainedLayersWith(const Net* other) {
  borrowed_.clear();
  // By owner, what those share that `other` does not have: it may have any of them.
  std::map<int, const Blob<Dtype>*> of_owners;
  std::vector<bool> given(params_.size());
  for (size_t i = 0; i < other->layers().size(); ++i) {
    const string& source = other->layer_names()[i];
    const auto target = layer_names_index_.find(source);
    if (target == layer_names_index_.end()) {
      LOG(INFO) << "Ignoring source layer " << source;
      continue;
    }
    auto& mine = layers_[target->second]->blobs();
    auto& theirs = other->layers()[i]->blobs();
    CHECK_EQ(mine.size(), theirs.size()) << "Incompatible number of blobs for layer " << source;
    for (size_t j = 0; j < mine.size(); ++j) {
      CHECK(mine[j]->shape() == theirs[j]->shape())
          << "Cannot share param " << j << " weights from layer '" << source
          << "'; shape mismatch.  Source param shape is " << theirs[j]->shape_string()
          << "; target param shape is " << mine[j]->shape_string();
      const int param = param_id_vecs_[target->second][j], owner = param_owners_[param];
      given[param] = true;
      if (owner < 0) {
        of_owners[param] = theirs[j].get();
      } else {
        of_owners.emplace(owner, theirs[j].get());
      }
      mine[j]->ShareData(*theirs[j]);
      borrowed_.insert(theirs[j]->data().get());
    }
  }
  for (size_t i = 0; i < params_.size(); ++i) {
    const int owner = param_owners_[i] < 0 ? static_cast<int>(i) : param_owners_[i];
    const auto shared = of_owners.find(owner);
    if (!given[i] && shared != of_owners.end()) params_[i]->ShareData(*shared->second);
  }
  ShareWeightsWithin();
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFrom(const NetParameter& param) {
  for (const LayerParameter& source : param.layer()) {
    const auto target = layer_names_index_.find(source.name());
    if (target == layer_names_index_.end()) {
      LOG(INFO) << "Ignoring source layer " << source.name();
      continue;
    }
    const FailureScope scope(layers_[target->second]->layer_param());
    auto& blobs = layers_[target->second]->blobs();
    CHECK(static_cast<int>(blobs.size()) == source.blobs_size())
        << "Incompatible number of blobs for layer " << source.name() << ": the net's has "
        << blobs.size() << ", the one that is copied " << source.blobs_size() << ".";
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
void Net<Dtype>::CopyTrainedLayersFrom(const string& trained_filename) {
  const FailureScope scope{FileAtWork{trained_filename}};
  const bool hdf5 = boost::ends_with(trained_filename, ".h5");
  CHECK(!boost::ends_with(trained_filename, ".solverstate") &&
        !boost::ends_with(trained_filename, ".solverstate.h5"))
      << "Cannot take weights from " << trained_filename
      << ": it holds the state of a solver. Give the .caffemodel file written beside it, or resume "
      << "that run with --snapshot.";
  if (hdf5) {
    CopyTrainedLayersFromHDF5(trained_filename);
  } else {
    CopyTrainedLayersFromBinaryProto(trained_filename);
  }
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromBinaryProto(const string& trained_filename) {
  NetParameter param;
  ReadWeightsFromBinaryFileOrDie(trained_filename, &param);
  CopyTrainedLayersFrom(param);
  const bool used =
      std::any_of(param.layer().begin(), param.layer().end(), [this](const auto& layer) {
        return layer.blobs_size() > 0 && layer_names_index_.count(layer.name()) > 0;
      });
  LOG_IF(WARNING, !used && !params_.empty())
      << trained_filename << " has weights for no layer of this net, by name: parameters that no "
      << "other file gives stay as the fillers made them.";
}

template <typename Dtype>
void Net<Dtype>::ToProto(NetParameter* param, bool write_diff) const {
  param->Clear();
  param->set_name(name_);
  DLOG(INFO) << "Serializing " << layers_.size() << " layers";
  for (const auto& layer : layers_) layer->ToProto(param->add_layer(), write_diff);
}

#define INSTANTIATE_WEIGHTS(Dtype)                                           \
  template void Net<Dtype>::ShareTrainedLayersWith(const Net*);              \
  template void Net<Dtype>::CopyTrainedLayersFrom(const NetParameter&);      \
  template void Net<Dtype>::CopyTrainedLayersFrom(const string&);            \
  template void Net<Dtype>::CopyTrainedLayersFromBinaryProto(const string&); \
  template void Net<Dtype>::ToProto(NetParameter*, bool) const
INSTANTIATE_WEIGHTS(float);
INSTANTIATE_WEIGHTS(double);

}  // namespace caffe
