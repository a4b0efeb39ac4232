// Net: from layer parameters to layers wired by blobs, and which of them a backward pass needs.
#include <algorithm>

#include "caffe/net.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/set_up_log.hpp"

namespace caffe {

template <typename Dtype>
void Net<Dtype>::CreateLayers(const NetParameter& in_param, map<string, int>* blob_name_to_idx,
                              set<string>* available_blobs) {
  NetParameter param(in_param);
  const int count = param.layer_size();
  bottom_vecs_.resize(count);
  top_vecs_.resize(count);
  bottom_id_vecs_.resize(count);
  top_id_vecs_.resize(count);
  param_id_vecs_.resize(count);
  bottom_need_backward_.resize(count);
  for (int layer_id = 0; layer_id < count; ++layer_id) {
    LayerParameter* layer_param = param.mutable_layer(layer_id);
    if (!layer_param->has_phase()) layer_param->set_phase(phase_);
    const FailureScope scope(*layer_param);
    layers_.push_back(LayerRegistry<Dtype>::CreateLayer(*layer_param));
    layer_names_.push_back(layer_param->name());
    LOG_IF(INFO, LogsSetUp()) << "Creating Layer " << layer_param->name();
    bool need_backward = false;
    for (int i = 0; i < layer_param->bottom_size(); ++i) {
      const int blob_id = AppendBottom(param, layer_id, i, available_blobs, blob_name_to_idx);
      need_backward |= blob_need_backward_[blob_id];
    }
    for (int i = 0; i < layer_param->top_size(); ++i)
      AppendTop(param, layer_id, i, available_blobs, blob_name_to_idx);
    const Layer<Dtype>& layer = *layers_[layer_id];
    if (layer.AutoTopBlobs()) {
      const int needed = std::max(layer.MinTopBlobs(), layer.ExactNumTopBlobs());
      for (int i = layer_param->top_size(); i < needed; ++i) {
        AppendTop(param, layer_id, i, NULL, NULL);
      }
    }
    SetUpLayer(layer_id);
    // A layer's set-up may have settled its own parameters' specs (statistics do not learn).
    const LayerParameter& settled = layers_[layer_id]->layer_param();
    const int param_blobs = static_cast<int>(layers_[layer_id]->blobs().size());
    CHECK(settled.param_size() <= param_blobs)
        << "Layer " << layer_param->name()
        << ": too many params specified: " << settled.param_size() << " for its " << param_blobs
        << ".";
    const ParamSpec default_spec;
    for (int i = 0; i < param_blobs; ++i) {
      const ParamSpec& spec = i < settled.param_size() ? settled.param(i) : default_spec;
      const bool learns = spec.lr_mult() != 0;
      need_backward |= learns;
      layers_[layer_id]->set_param_propagate_down(i, learns);
    }
    for (int i = 0; i < param_blobs; ++i) AppendParam(param, layer_id, i);
    layer_need_backward_.push_back(need_backward);
    if (need_backward) {
      for (int blob_id : top_id_vecs_[layer_id]) blob_need_backward_[blob_id] = true;
    }
  }
}

template <typename Dtype>
void Net<Dtype>::SetUpLayer(int layer_id) {
  Layer<Dtype>& layer = *layers_[layer_id];
  vector<vector<int>> bottom_shapes;
  for (const Blob<Dtype>* bottom : bottom_vecs_[layer_id]) bottom_shapes.push_back(bottom->shape());
  layer.SetUp(bottom_vecs_[layer_id], top_vecs_[layer_id]);
  for (size_t i = 0; i < bottom_shapes.size(); ++i) {
    CHECK(bottom_vecs_[layer_id][i]->shape() == bottom_shapes[i])
        << "Layer " << layer_names_[layer_id] << " (" << layer.type()
        << ") cannot run in place: it changes the shape of blob '"
        << blob_names_[bottom_id_vecs_[layer_id][i]] << "'.";
  }
  LOG_IF(INFO, LogsSetUp()) << "Setting up " << layer_names_[layer_id];
  for (size_t i = 0; i < top_vecs_[layer_id].size(); ++i) {
    const int blob_id = top_id_vecs_[layer_id][i];
    if (static_cast<int>(blob_loss_weights_.size()) <= blob_id)
      blob_loss_weights_.resize(blob_id + 1, Dtype(0));
    blob_loss_weights_[blob_id] = layer.loss(i);
    LOG_IF(INFO, LogsSetUp()) << "Top shape: " << top_vecs_[layer_id][i]->shape_string();
    LOG_IF(INFO, LogsSetUp() && layer.loss(i) != Dtype(0))
        << "    with loss weight " << layer.loss(i);
    memory_used_ += top_vecs_[layer_id][i]->count();
  }
  LOG_IF(INFO, LogsSetUp()) << "Memory required for data: " << memory_used_ * sizeof(Dtype);
  const vector<bool> none(bottom_vecs_[layer_id].size(), false);
  if (layer.Traits(bottom_vecs_[layer_id], top_vecs_[layer_id], none).user_tops) {
    for (int blob_id : top_id_vecs_[layer_id]) {
      net_input_blob_indices_.push_back(blob_id);
      net_input_blobs_.push_back(blobs_[blob_id].get());
    }
  }
}

template <typename Dtype>
void Net<Dtype>::AppendTop(const NetParameter& param, const int layer_id, const int top_id,
                           set<string>* available_blobs, map<string, int>* blob_name_to_idx) {
  const LayerParameter& layer_param = param.layer(layer_id);
  const string blob_name =
      top_id < layer_param.top_size() ? layer_param.top(top_id) : "(automatic)";
  const bool in_place = blob_name_to_idx && top_id < layer_param.bottom_size() &&
                        blob_name == layer_param.bottom(top_id);
  LOG_IF(INFO, LogsSetUp()) << layer_param.name() << " -> " << blob_name
                            << (in_place ? " (in-place)" : "");
  int blob_id;
  if (in_place) {
    blob_id = (*blob_name_to_idx)[blob_name];
  } else {
    blob_id = static_cast<int>(blobs_.size());
    blobs_.emplace_back(new Blob<Dtype>());
    blob_names_.push_back(blob_name);
    blob_need_backward_.push_back(false);
    if (blob_name_to_idx) (*blob_name_to_idx)[blob_name] = blob_id;
  }
  top_id_vecs_[layer_id].push_back(blob_id);
  top_vecs_[layer_id].push_back(blobs_[blob_id].get());
  if (available_blobs) available_blobs->insert(blob_name);
}

template <typename Dtype>
int Net<Dtype>::AppendBottom(const NetParameter& param, const int layer_id, const int bottom_id,
                             set<string>* available_blobs, map<string, int>* blob_name_to_idx) {
  const LayerParameter& layer_param = param.layer(layer_id);
  const string& blob_name = layer_param.bottom(bottom_id);
  const int blob_id = (*blob_name_to_idx)[blob_name];
  LOG_IF(INFO, LogsSetUp()) << layer_names_[layer_id] << " <- " << blob_name;
  bottom_vecs_[layer_id].push_back(blobs_[blob_id].get());
  bottom_id_vecs_[layer_id].push_back(blob_id);
  available_blobs->erase(blob_name);
  const bool need_backward = layer_param.propagate_down_size() > 0
                                 ? layer_param.propagate_down(bottom_id)
                                 : bool(blob_need_backward_[blob_id]);
  bottom_need_backward_[layer_id].push_back(need_backward);
  return blob_id;
}

template <typename Dtype>
void Net<Dtype>::AppendParam(const NetParameter& /*param*/, const int layer_id,
                             const int param_id) {
  const LayerParameter& layer_param = layers_[layer_id]->layer_param();
  const ParamSpec spec =
      param_id < layer_param.param_size() ? layer_param.param(param_id) : ParamSpec();
  const string& param_name = spec.name();
  param_display_names_.push_back(param_name.empty() ? std::to_string(param_id) : param_name);
  const int net_param_id = static_cast<int>(params_.size());
  params_.push_back(layers_[layer_id]->blobs()[param_id]);
  param_id_vecs_[layer_id].push_back(net_param_id);
  param_layer_indices_.push_back(make_pair(layer_id, param_id));
  const auto known = param_names_index_.find(param_name);
  if (param_name.empty() || known == param_names_index_.end()) {
    param_owners_.push_back(-1);
    if (!param_name.empty()) param_names_index_[param_name] = net_param_id;
    learnable_param_ids_.push_back(static_cast<int>(learnable_params_.size()));
    learnable_params_.push_back(params_[net_param_id].get());
    has_params_lr_.push_back(spec.has_lr_mult());
    has_params_decay_.push_back(spec.has_decay_mult());
    params_lr_.push_back(spec.lr_mult());
    params_weight_decay_.push_back(spec.decay_mult());
    return;
  }
  // A name seen before: this parameter is the owner's.
  const int owner = known->second;
  param_owners_.push_back(owner);
  const string owner_layer = layer_names_[param_layer_indices_[owner].first];
  LOG_IF(INFO, LogsSetUp()) << "Sharing parameters '" << param_name << "' owned by layer '"
                            << owner_layer << "', param index "
                            << param_layer_indices_[owner].second;
  const Blob<Dtype>& mine = *params_[net_param_id];
  const Blob<Dtype>& theirs = *params_[owner];
  const string what = "Cannot share param '" + param_name + "' owned by layer '" + owner_layer +
                      "' with layer '" + layer_names_[layer_id] + "'; ";
  if (spec.share_mode() == ParamSpec_DimCheckMode_PERMISSIVE) {
    CHECK_EQ(mine.count(), theirs.count())
        << what << "count mismatch: " << theirs.shape_string() << " and " << mine.shape_string();
  } else {
    CHECK(mine.shape() == theirs.shape())
        << what << "shape mismatch: " << theirs.shape_string() << " and " << mine.shape_string();
  }
  const int learnable = learnable_param_ids_[owner];
  learnable_param_ids_.push_back(learnable);
  const auto agree = [&](bool given, float value, vector<bool>* has, vector<float>* values,
                         const char* field) {
    if (!given) return;
    if ((*has)[learnable]) {
      CHECK_EQ(value, (*values)[learnable])
          << "Shared param '" << param_name << "' has mismatched " << field << ".";
    } else {
      (*has)[learnable] = true;
      (*values)[learnable] = value;
    }
  };
  agree(spec.has_lr_mult(), spec.lr_mult(), &has_params_lr_, &params_lr_, "lr_mult");
  agree(spec.has_decay_mult(), spec.decay_mult(), &has_params_decay_, &params_weight_decay_,
        "decay_mult");
}

template <typename Dtype>
void Net<Dtype>::FindBackward(bool force_backward) {
  // From the last layer up: a layer runs backward when a loss depends on it and something above it
  // learns.
  set<string> under_loss, not_propagated;
  for (int layer_id = static_cast<int>(layers_.size()) - 1; layer_id >= 0; --layer_id) {
    bool contributes = false, all_skipped = true;
    for (size_t i = 0; i < top_vecs_[layer_id].size(); ++i) {
      const string& name = blob_names_[top_id_vecs_[layer_id][i]];
      if (layers_[layer_id]->loss(i) != Dtype(0) || under_loss.count(name)) contributes = true;
      if (!not_propagated.count(name)) all_skipped = false;
    }
    if (!contributes || all_skipped) {
      layer_need_backward_[layer_id] = false;
      std::fill(bottom_need_backward_[layer_id].begin(), bottom_need_backward_[layer_id].end(),
                false);
    }
    LOG_IF(INFO, LogsSetUp()) << layer_names_[layer_id]
                              << (layer_need_backward_[layer_id]
                                      ? " needs backward computation."
                                      : " does not need backward computation.");
    for (size_t i = 0; i < bottom_vecs_[layer_id].size(); ++i) {
      const string& name = blob_names_[bottom_id_vecs_[layer_id][i]];
      if (contributes) under_loss.insert(name);
      // An in-place layer's bottom carries the name of its top: what counts is the layer nearest to
      // the source.
      if (bottom_need_backward_[layer_id][i]) {
        not_propagated.erase(name);
      } else {
        not_propagated.insert(name);
      }
    }
  }
  if (!force_backward) return;
  for (size_t layer_id = 0; layer_id < layers_.size(); ++layer_id) {
    layer_need_backward_[layer_id] = true;
    for (size_t i = 0; i < bottom_need_backward_[layer_id].size(); ++i) {
      if (!layers_[layer_id]->AllowForceBackward(i)) continue;
      bottom_need_backward_[layer_id][i] = true;
      blob_need_backward_[bottom_id_vecs_[layer_id][i]] = true;
    }
    for (size_t i = 0; i < layers_[layer_id]->blobs().size(); ++i)
      layers_[layer_id]->set_param_propagate_down(i, true);
  }
}

template <typename Dtype>
void Net<Dtype>::FindOverwritten() {
  // Blobs that are views of one another have one memory: that of their root. What a layer without
  // traits does is not known: its tops may be views of bottoms that are as large.
  vector<int> root(blobs_.size());
  for (size_t i = 0; i < root.size(); ++i) root[i] = static_cast<int>(i);
  vector<int> possible_root = root;
  vector<MemoryTraits> traits;
  for (size_t i = 0; i < layers_.size(); ++i) {
    traits.push_back(
        layers_[i]->PlannedTraits(bottom_vecs_[i], top_vecs_[i], bottom_need_backward_[i]));
    const auto join = [&](size_t top, size_t bottom, vector<int>* roots) {
      const int old_root = (*roots)[top_id_vecs_[i][top]];
      std::replace(roots->begin(), roots->end(), old_root, (*roots)[bottom_id_vecs_[i][bottom]]);
    };
    for (const View& view : traits[i].data_views) {
      join(view.top, view.bottom, &root);
      join(view.top, view.bottom, &possible_root);
    }
    if (traits[i].declared) continue;
    for (size_t top = 0; top < top_vecs_[i].size(); ++top) {
      for (size_t bottom = 0; bottom < bottom_vecs_[i].size(); ++bottom) {
        if (top_vecs_[i][top]->count() == bottom_vecs_[i][bottom]->count())
          join(top, bottom, &possible_root);
      }
    }
  }
  struct Overwritten {
    vector<bool> bottom, top;
  };
  // By layer, if blobs of one root have one memory.
  const auto by_layers_behind = [&](const vector<int>& roots) {
    vector<Overwritten> result(layers_.size());
    set<int> overwritten;
    const auto flags = [&](const vector<int>& blobs) {
      vector<bool> are;
      for (int blob : blobs) are.push_back(overwritten.count(roots[blob]) > 0);
      return are;
    };
    for (int i = static_cast<int>(layers_.size()) - 1; i >= 0; --i) {
      const auto& bottoms = bottom_id_vecs_[i];
      result[i].top = flags(top_id_vecs_[i]);
      for (int blob : top_id_vecs_[i]) {
        if (std::find(bottoms.begin(), bottoms.end(), blob) != bottoms.end())
          overwritten.insert(roots[blob]);
      }
      result[i].bottom = flags(bottoms);
    }
    return result;
  };
  const vector<Overwritten> surely = by_layers_behind(root),
                            perhaps = by_layers_behind(possible_root);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto& [bottom, top] = perhaps[i];
    const bool can_do_without = FirstUsableForm(traits[i].backward, bottom, top) >= 0;
    const Overwritten& flags = can_do_without ? perhaps[i] : surely[i];
    layers_[i]->set_overwritten(flags.bottom, flags.top);
  }
}

template <typename Dtype>
void Net<Dtype>::ShareWeights() {
  for (size_t i = 0; i < params_.size(); ++i) {
    if (param_owners_[i] < 0) continue;
    params_[i]->ShareData(*params_[param_owners_[i]]);
    params_[i]->ShareDiff(*params_[param_owners_[i]]);
  }
  ShareWeightsWithin();
}

/// The nets inside layers share the memory that their layers' parameters have now.
template <typename Dtype>
void Net<Dtype>::ShareWeightsWithin() {
  for (const auto& layer : layers_) {
    const InnerNet<Dtype> inner = layer->inner_net();
    if (inner.net) inner.net->ShareWeights();
  }
}

// The members that this file defines; the rest of the class is instantiated where it is defined.
#define INSTANTIATE_WIRING(Dtype)                                                                \
  template void Net<Dtype>::CreateLayers(const NetParameter&, map<string, int>*, set<string>*);  \
  template void Net<Dtype>::SetUpLayer(int);                                                     \
  template void Net<Dtype>::AppendTop(const NetParameter&, const int, const int, set<string>*,   \
                                      map<string, int>*);                                        \
  template int Net<Dtype>::AppendBottom(const NetParameter&, const int, const int, set<string>*, \
                                        map<string, int>*);                                      \
  template void Net<Dtype>::AppendParam(const NetParameter&, const int, const int);              \
  template void Net<Dtype>::FindBackward(bool);                                                  \
  template void Net<Dtype>::FindOverwritten();                                                   \
  template void Net<Dtype>::ShareWeights();                                                      \
  template void Net<Dtype>::ShareWeightsWithin()
INSTANTIATE_WIRING(float);
INSTANTIATE_WIRING(double);

}  // namespace caffe
