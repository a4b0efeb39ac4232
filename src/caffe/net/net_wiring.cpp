#include "net_wiring.hpp"

#include <algorithm>

#include "caffe/util/failure.hpp"
#include "caffe/util/parts.hpp"
#include "caffe/util/set_up_log.hpp"

namespace caffe {

template <typename Dtype>
void NetWiring<Dtype>::CreateLayers(const NetParameter& in_param) {
  NetParameter param(in_param);
  const int count = param.layer_size();
  net_.bottom_vecs_.resize(count);
  net_.top_vecs_.resize(count);
  net_.bottom_id_vecs_.resize(count);
  net_.top_id_vecs_.resize(count);
  net_.param_id_vecs_.resize(count);
  net_.bottom_need_backward_.resize(count);
  for (int layer_id = 0; layer_id < count; ++layer_id) {
    LayerParameter* layer_param = param.mutable_layer(layer_id);
    if (!layer_param->has_phase()) layer_param->set_phase(net_.phase_);
    const FailureScope scope(*layer_param);
    net_.layers_.push_back(LayerRegistry<Dtype>::CreateLayer(*layer_param));
    net_.layer_names_.push_back(layer_param->name());
    LOG_IF(INFO, LogsSetUp()) << "Creating Layer " << layer_param->name();
    bool need_backward = false;
    for (int i = 0; i < layer_param->bottom_size(); ++i) {
      const int blob_id = AppendBottom(param, layer_id, i);
      need_backward |= net_.blob_need_backward_[blob_id];
    }
    for (int i = 0; i < layer_param->top_size(); ++i) AppendTop(param, layer_id, i, true);
    const Layer<Dtype>& layer = *net_.layers_[layer_id];
    if (layer.AutoTopBlobs()) {
      const int needed = std::max(layer.MinTopBlobs(), layer.ExactNumTopBlobs());
      for (int i = layer_param->top_size(); i < needed; ++i) {
        AppendTop(param, layer_id, i, false);
      }
    }
    SetUpLayer(layer_id);
    // SetUp may have changed the layer's own param specs (statistics do not learn).
    const LayerParameter& settled = net_.layers_[layer_id]->layer_param();
    const int param_blobs = static_cast<int>(net_.layers_[layer_id]->blobs().size());
    CHECK(settled.param_size() <= param_blobs)
        << "Layer " << layer_param->name()
        << ": too many params specified: " << settled.param_size() << " for its " << param_blobs
        << ".";
    const ParamSpec default_spec;
    for (int i = 0; i < param_blobs; ++i) {
      const ParamSpec& spec = i < settled.param_size() ? settled.param(i) : default_spec;
      const bool learns = spec.lr_mult() != 0;
      need_backward |= learns;
      net_.layers_[layer_id]->set_param_propagate_down(i, learns);
    }
    for (int i = 0; i < param_blobs; ++i) AppendParam(layer_id, i);
    net_.layer_need_backward_.push_back(need_backward);
    if (need_backward) {
      for (int blob_id : net_.top_id_vecs_[layer_id]) net_.blob_need_backward_[blob_id] = true;
    }
  }
}

template <typename Dtype>
void NetWiring<Dtype>::SetUpLayer(int layer_id) {
  Layer<Dtype>& layer = *net_.layers_[layer_id];
  vector<vector<int>> bottom_shapes;
  for (const Blob<Dtype>* bottom : net_.bottom_vecs_[layer_id])
    bottom_shapes.push_back(bottom->shape());
  const PartsScope<Dtype> parts(&layer);
  layer.SetUp(net_.bottom_vecs_[layer_id], net_.top_vecs_[layer_id]);
  for (size_t i = 0; i < bottom_shapes.size(); ++i) {
    CHECK(net_.bottom_vecs_[layer_id][i]->shape() == bottom_shapes[i])
        << "Layer " << net_.layer_names_[layer_id] << " (" << layer.type()
        << ") cannot run in place: it changes the shape of blob '"
        << net_.blob_names_[net_.bottom_id_vecs_[layer_id][i]] << "'.";
  }
  LOG_IF(INFO, LogsSetUp()) << "Setting up " << net_.layer_names_[layer_id];
  for (size_t i = 0; i < net_.top_vecs_[layer_id].size(); ++i) {
    const int blob_id = net_.top_id_vecs_[layer_id][i];
    if (static_cast<int>(net_.blob_loss_weights_.size()) <= blob_id)
      net_.blob_loss_weights_.resize(blob_id + 1, Dtype(0));
    net_.blob_loss_weights_[blob_id] = layer.loss(i);
    LOG_IF(INFO, LogsSetUp()) << "Top shape: " << net_.top_vecs_[layer_id][i]->shape_string();
    LOG_IF(INFO, LogsSetUp() && layer.loss(i) != Dtype(0))
        << "    with loss weight " << layer.loss(i);
    net_.memory_used_ += net_.top_vecs_[layer_id][i]->count();
  }
  LOG_IF(INFO, LogsSetUp()) << "Memory required for data: " << net_.memory_used_ * sizeof(Dtype);
  const vector<bool> none(net_.bottom_vecs_[layer_id].size(), false);
  if (layer.Traits(net_.bottom_vecs_[layer_id], net_.top_vecs_[layer_id], none).user_tops) {
    for (int blob_id : net_.top_id_vecs_[layer_id]) {
      net_.net_input_blob_indices_.push_back(blob_id);
      net_.net_input_blobs_.push_back(net_.blobs_[blob_id].get());
    }
  }
}

template <typename Dtype>
void NetWiring<Dtype>::AppendTop(const NetParameter& param, int layer_id, int top_id,
                                 bool has_name) {
  const LayerParameter& layer_param = param.layer(layer_id);
  const string blob_name =
      top_id < layer_param.top_size() ? layer_param.top(top_id) : "(automatic)";
  const bool in_place =
      has_name && top_id < layer_param.bottom_size() && blob_name == layer_param.bottom(top_id);
  LOG_IF(INFO, LogsSetUp()) << layer_param.name() << " -> " << blob_name
                            << (in_place ? " (in-place)" : "");
  int blob_id;
  if (in_place) {
    blob_id = (*blob_name_to_idx_)[blob_name];
  } else {
    blob_id = static_cast<int>(net_.blobs_.size());
    net_.blobs_.emplace_back(new Blob<Dtype>());
    net_.blob_names_.push_back(blob_name);
    net_.blob_need_backward_.push_back(false);
    if (has_name) (*blob_name_to_idx_)[blob_name] = blob_id;
  }
  net_.top_id_vecs_[layer_id].push_back(blob_id);
  net_.top_vecs_[layer_id].push_back(net_.blobs_[blob_id].get());
  if (has_name) available_blobs_->insert(blob_name);
}

template <typename Dtype>
int NetWiring<Dtype>::AppendBottom(const NetParameter& param, int layer_id, int bottom_id) {
  const LayerParameter& layer_param = param.layer(layer_id);
  const string& blob_name = layer_param.bottom(bottom_id);
  const int blob_id = (*blob_name_to_idx_)[blob_name];
  LOG_IF(INFO, LogsSetUp()) << net_.layer_names_[layer_id] << " <- " << blob_name;
  net_.bottom_vecs_[layer_id].push_back(net_.blobs_[blob_id].get());
  net_.bottom_id_vecs_[layer_id].push_back(blob_id);
  available_blobs_->erase(blob_name);
  const bool need_backward = layer_param.propagate_down_size() > 0
                                 ? layer_param.propagate_down(bottom_id)
                                 : bool(net_.blob_need_backward_[blob_id]);
  net_.bottom_need_backward_[layer_id].push_back(need_backward);
  return blob_id;
}

template <typename Dtype>
void NetWiring<Dtype>::AppendParam(int layer_id, int param_id) {
  const LayerParameter& layer_param = net_.layers_[layer_id]->layer_param();
  const ParamSpec spec =
      param_id < layer_param.param_size() ? layer_param.param(param_id) : ParamSpec();
  const string& param_name = spec.name();
  net_.param_display_names_.push_back(param_name.empty() ? std::to_string(param_id) : param_name);
  const int net_param_id = static_cast<int>(net_.params_.size());
  net_.params_.push_back(net_.layers_[layer_id]->blobs()[param_id]);
  net_.param_id_vecs_[layer_id].push_back(net_param_id);
  net_.param_layer_indices_.push_back(make_pair(layer_id, param_id));
  const auto known = net_.param_names_index_.find(param_name);
  if (param_name.empty() || known == net_.param_names_index_.end()) {
    net_.param_owners_.push_back(-1);
    if (!param_name.empty()) net_.param_names_index_[param_name] = net_param_id;
    net_.learnable_param_ids_.push_back(static_cast<int>(net_.learnable_params_.size()));
    net_.learnable_params_.push_back(net_.params_[net_param_id].get());
    net_.has_params_lr_.push_back(spec.has_lr_mult());
    net_.has_params_decay_.push_back(spec.has_decay_mult());
    net_.params_lr_.push_back(spec.lr_mult());
    net_.params_weight_decay_.push_back(spec.decay_mult());
    return;
  }
  ShareParam(net_param_id, spec, known->second);
}

/// Shares the parameter with `owner`, which has the same name.
template <typename Dtype>
void NetWiring<Dtype>::ShareParam(int param, const ParamSpec& spec, int owner) {
  net_.param_owners_.push_back(owner);
  const string owner_layer = net_.layer_names_[net_.param_layer_indices_[owner].first];
  LOG_IF(INFO, LogsSetUp()) << "Sharing parameters '" << spec.name() << "' owned by layer '"
                            << owner_layer << "', param index "
                            << net_.param_layer_indices_[owner].second;
  const Blob<Dtype>& mine = *net_.params_[param];
  const Blob<Dtype>& theirs = *net_.params_[owner];
  const string what = "Cannot share param '" + spec.name() + "' owned by layer '" + owner_layer +
                      "' with layer '" + net_.layer_names_[net_.param_layer_indices_[param].first] +
                      "'; ";
  if (spec.share_mode() == ParamSpec_DimCheckMode_PERMISSIVE) {
    CHECK_EQ(mine.count(), theirs.count())
        << what << "count mismatch: " << theirs.shape_string() << " and " << mine.shape_string();
  } else {
    CHECK(mine.shape() == theirs.shape())
        << what << "shape mismatch: " << theirs.shape_string() << " and " << mine.shape_string();
  }
  const int learnable = net_.learnable_param_ids_[owner];
  net_.learnable_param_ids_.push_back(learnable);
  const auto agree = [&](bool given, float value, vector<bool>* has, vector<float>* values,
                         const char* field) {
    if (!given) return;
    if ((*has)[learnable]) {
      CHECK_EQ(value, (*values)[learnable])
          << "Shared param '" << spec.name() << "' has mismatched " << field << ".";
    } else {
      (*has)[learnable] = true;
      (*values)[learnable] = value;
    }
  };
  agree(spec.has_lr_mult(), spec.lr_mult(), &net_.has_params_lr_, &net_.params_lr_, "lr_mult");
  agree(spec.has_decay_mult(), spec.decay_mult(), &net_.has_params_decay_,
        &net_.params_weight_decay_, "decay_mult");
}

template <typename Dtype>
void NetWiring<Dtype>::FindBackward(bool force_backward) {
  // From the last layer to the first: a layer runs backward if a loss depends on it and something
  // before it learns.
  set<string> under_loss, not_propagated;
  for (int layer_id = static_cast<int>(net_.layers_.size()) - 1; layer_id >= 0; --layer_id) {
    bool contributes = false, all_skipped = true;
    for (size_t i = 0; i < net_.top_vecs_[layer_id].size(); ++i) {
      const string& name = net_.blob_names_[net_.top_id_vecs_[layer_id][i]];
      if (net_.layers_[layer_id]->loss(i) != Dtype(0) || under_loss.count(name)) contributes = true;
      if (!not_propagated.count(name)) all_skipped = false;
    }
    if (!contributes || all_skipped) {
      net_.layer_need_backward_[layer_id] = false;
      std::fill(net_.bottom_need_backward_[layer_id].begin(),
                net_.bottom_need_backward_[layer_id].end(), false);
    }
    LOG_IF(INFO, LogsSetUp()) << net_.layer_names_[layer_id]
                              << (net_.layer_need_backward_[layer_id]
                                      ? " needs backward computation."
                                      : " does not need backward computation.");
    for (size_t i = 0; i < net_.bottom_vecs_[layer_id].size(); ++i) {
      const string& name = net_.blob_names_[net_.bottom_id_vecs_[layer_id][i]];
      if (contributes) under_loss.insert(name);
      // An in-place layer's bottom has the name of its top, so the layer nearest to the source
      // decides.
      if (net_.bottom_need_backward_[layer_id][i]) {
        not_propagated.erase(name);
      } else {
        not_propagated.insert(name);
      }
    }
  }
  if (!force_backward) return;
  for (size_t layer_id = 0; layer_id < net_.layers_.size(); ++layer_id) {
    net_.layer_need_backward_[layer_id] = true;
    for (size_t i = 0; i < net_.bottom_need_backward_[layer_id].size(); ++i) {
      if (!net_.layers_[layer_id]->AllowForceBackward(i)) continue;
      net_.bottom_need_backward_[layer_id][i] = true;
      net_.blob_need_backward_[net_.bottom_id_vecs_[layer_id][i]] = true;
    }
    for (size_t i = 0; i < net_.layers_[layer_id]->blobs().size(); ++i)
      net_.layers_[layer_id]->set_param_propagate_down(i, true);
  }
}

template class NetWiring<float>;
template class NetWiring<double>;

}  // namespace caffe
