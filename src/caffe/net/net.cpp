#include "caffe/net.hpp"

#include <algorithm>

#include "caffe/planned_net.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/insert_splits.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/set_up_log.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "debug_info.hpp"
#include "dropped_value.hpp"
#include "net_problems.hpp"
#include "net_weights.hpp"
#include "net_wiring.hpp"
#include "overwritten.hpp"

namespace caffe {

template <typename Dtype>
Net<Dtype>::Net(const NetParameter& param) {
  Init(param);
}

template <typename Dtype>
Net<Dtype>::Net(const string& param_file, Phase phase, const int level,
                const vector<string>* stages) {
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(param_file, &param);
  param.mutable_state()->set_phase(phase);
  if (stages) {
    for (const string& stage : *stages) param.mutable_state()->add_stage(stage);
  }
  param.mutable_state()->set_level(level);
  Init(param);
}

template <typename Dtype>
Net<Dtype>::~Net() {
  if (planned_) planned_->ReleaseAtEnd();
}

template <typename Dtype>
void Net<Dtype>::Init(const NetParameter& in_param) {
  phase_ = in_param.state().phase();
  NetParameter filtered, param;
  FilterNet(in_param, &filtered);
  CHECK_GT(filtered.layer_size(), 0)
      << "Net '" << filtered.name() << "' has no layers in phase " << Phase_Name(phase_) << ".";
  LOG_IF(INFO, LogsSetUp()) << "Initializing net from parameters: \n"
                            << WithoutOrigins(filtered).DebugString();
  if (const string problems = NetProblems(filtered, in_param); !problems.empty())
    LOG(FATAL) << problems;
  InsertSplits(filtered, &param);
  name_ = param.name();
  debug_info_ = false;
  memory_used_ = 0;

  map<string, int> blob_name_to_idx;
  set<string> available_blobs;
  NetWiring<Dtype> wiring(this, &available_blobs, &blob_name_to_idx);
  wiring.CreateLayers(param);
  wiring.FindBackward(param.force_backward());

  for (const string& blob : available_blobs) {
    LOG_IF(INFO, LogsSetUp()) << "This network produces output " << blob;
    net_output_blobs_.push_back(blobs_[blob_name_to_idx[blob]].get());
    net_output_blob_indices_.push_back(blob_name_to_idx[blob]);
  }
  for (size_t i = 0; i < blob_names_.size(); ++i) blob_names_index_[blob_names_[i]] = i;
  for (size_t i = 0; i < layer_names_.size(); ++i) {
    const bool fresh = layer_names_index_.emplace(layer_names_[i], i).second;
    LOG_IF(WARNING, !fresh && !layer_names_[i].empty())
        << "Two layers are called " << layer_names_[i]
        << "; weights are matched by name, so give each its own.";
    layer_names_index_[layer_names_[i]] = i;
  }
  ShareWeights();
  SetOverwrittenFlags(*this);
  for (size_t i = 0; i < layers_.size(); ++i)
    layers_[i]->set_needs_backward(layer_need_backward_[i]);
  debug_info_ = param.debug_info();
  LOG_IF(INFO, LogsSetUp()) << "Network initialization done.";
}

template <typename Dtype>
void Net<Dtype>::FilterNet(const NetParameter& param, NetParameter* param_filtered) {
  const NetState& state = param.state();
  param_filtered->CopyFrom(param);
  param_filtered->clear_layer();
  for (const LayerParameter& layer : param.layer()) {
    const FailureScope scope(layer);
    CHECK(layer.include_size() == 0 || layer.exclude_size() == 0)
        << "Layer " << layer.name() << ": specify either include rules or exclude rules; not both.";
    const auto met = [&](const NetStateRule& rule) {
      return StateMeetsRule(state, rule, layer.name());
    };
    const bool included = layer.include_size() > 0
                              ? std::any_of(layer.include().begin(), layer.include().end(), met)
                              : std::none_of(layer.exclude().begin(), layer.exclude().end(), met);
    if (included) param_filtered->add_layer()->CopyFrom(layer);
  }
}

template <typename Dtype>
bool Net<Dtype>::StateMeetsRule(const NetState& state, const NetStateRule& rule,
                                const string& layer_name) {
  const auto refuse = [&](const string& why) {
    LOG_IF(INFO, LogsSetUp()) << "The NetState " << why << " a rule in layer " << layer_name;
    return false;
  };
  const auto has_stage = [&](const string& stage) {
    return std::find(state.stage().begin(), state.stage().end(), stage) != state.stage().end();
  };
  if (rule.has_phase() && rule.phase() != state.phase()) {
    return refuse("phase (" + Phase_Name(state.phase()) + ") differed from the phase (" +
                  Phase_Name(rule.phase()) + ") specified by");
  }
  if (rule.has_min_level() && state.level() < rule.min_level()) {
    return refuse("level (" + std::to_string(state.level()) + ") is below the min_level (" +
                  std::to_string(rule.min_level()) + ") specified by");
  }
  if (rule.has_max_level() && state.level() > rule.max_level()) {
    return refuse("level (" + std::to_string(state.level()) + ") is above the max_level (" +
                  std::to_string(rule.max_level()) + ") specified by");
  }
  for (const string& stage : rule.stage()) {
    if (!has_stage(stage)) return refuse("did not contain stage '" + stage + "' specified by");
  }
  for (const string& stage : rule.not_stage()) {
    if (has_stage(stage)) return refuse("contained a not_stage '" + stage + "' specified by");
  }
  return true;
}

template <typename Dtype>
bool Net<Dtype>::has_blob(const string& blob_name) const {
  return blob_names_index_.count(blob_name) > 0;
}

template <typename Dtype>
const shared_ptr<Blob<Dtype>> Net<Dtype>::blob_by_name(const string& blob_name) const {
  const auto found = blob_names_index_.find(blob_name);
  if (found != blob_names_index_.end()) return blobs_[found->second];
  LOG(WARNING) << "Unknown blob name " << blob_name;
  return shared_ptr<Blob<Dtype>>();
}

template <typename Dtype>
bool Net<Dtype>::has_layer(const string& layer_name) const {
  return layer_names_index_.count(layer_name) > 0;
}

template <typename Dtype>
const shared_ptr<Layer<Dtype>> Net<Dtype>::layer_by_name(const string& layer_name) const {
  const auto found = layer_names_index_.find(layer_name);
  if (found != layer_names_index_.end()) return layers_[found->second];
  LOG(WARNING) << "Unknown layer name " << layer_name;
  return shared_ptr<Layer<Dtype>>();
}

template <typename Dtype>
void Net<Dtype>::AppendTop(const NetParameter& param, const int layer_id, const int top_id,
                           set<string>* available_blobs, map<string, int>* blob_name_to_idx) {
  NetWiring<Dtype>(this, available_blobs, blob_name_to_idx)
      .AppendTop(param, layer_id, top_id, blob_name_to_idx != nullptr);
}

template <typename Dtype>
int Net<Dtype>::AppendBottom(const NetParameter& param, const int layer_id, const int bottom_id,
                             set<string>* available_blobs, map<string, int>* blob_name_to_idx) {
  return NetWiring<Dtype>(this, available_blobs, blob_name_to_idx)
      .AppendBottom(param, layer_id, bottom_id);
}

template <typename Dtype>
void Net<Dtype>::AppendParam(const NetParameter& /*param*/, const int layer_id,
                             const int param_id) {
  NetWiring<Dtype>(this, nullptr, nullptr).AppendParam(layer_id, param_id);
}

// ---- Passes ----

template <typename Dtype>
Dtype Net<Dtype>::ForwardFromTo(int start, int end) {
  return LossOf<Dtype>(
      [&](PendingReads* reads, Dtype* loss) { RunLayers(start, end, reads, loss); });
}

template <typename Dtype>
void Net<Dtype>::RunLayers(int start, int end, PendingReads* reads, Dtype* loss) {
  CHECK_GE(start, 0);
  CHECK_LT(end, static_cast<int>(layers_.size()));
  LeavePlan();
  for (int i = start; i <= end; ++i) {
    for (Callback* callback : before_forward_) callback->run(i);
    // The layer computes its tops again, so derivatives of the previous pass no longer belong to
    // them and read as zero.
    for (const Blob<Dtype>* top : top_vecs_[i]) {
      if (top->HasShape()) DroppedValue::Forget(top->diff().get());
    }
    layers_[i]->Forward(bottom_vecs_[i], top_vecs_[i], reads, loss);
    if (debug_info_) ForwardDebugInfo(i);
    for (Callback* callback : after_forward_) callback->run(i);
  }
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardFrom(int start) {
  return ForwardFromTo(start, static_cast<int>(layers_.size()) - 1);
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardTo(int end) {
  return ForwardFromTo(0, end);
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::Forward(Dtype* loss) {
  const Dtype sum =
      LossOf<Dtype>([&](PendingReads* reads, Dtype* adds) { RunForward(reads, adds); });
  if (loss) *loss = sum;
  return net_output_blobs_;
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardBackward() {
  return LossOf<Dtype>([&](PendingReads* reads, Dtype* loss) {
    RunForward(reads, loss);
    Backward();
  });
}

template <typename Dtype>
void Net<Dtype>::RunForward(PendingReads* reads, Dtype* loss) {
  const int last = static_cast<int>(layers_.size()) - 1;
  if (placement_wanted_ && (!planned_ || !planned_->IsUpToDate())) {
    LeavePlan(true);
    PlacementOptions options = placement_;
    options.plan.reset();  // was made for other shapes
    const layrub::Status status = Place(options, history_);
    CHECK(status.ok()) << status.message;
  }
  const int next = planned_ ? planned_->Forward(reads, loss) : 0;
  if (next <= last) RunLayers(next, last, reads, loss);
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::Forward(const vector<Blob<Dtype>*>& bottom, Dtype* loss) {
  LOG_EVERY_N(WARNING, 1000)
      << "DEPRECATED: Forward(bottom, loss) will be removed in a future version. Use "
         "Forward(loss).";
  CHECK_LE(bottom.size(), net_input_blobs_.size())
      << "net " << name_ << " has fewer inputs than it is given";
  for (size_t i = 0; i < bottom.size(); ++i) net_input_blobs_[i]->CopyFrom(*bottom[i]);
  return Forward(loss);
}

template <typename Dtype>
void Net<Dtype>::BackwardFromTo(int start, int end) {
  CHECK_GE(end, 0);
  CHECK_LT(start, static_cast<int>(layers_.size()));
  if (planned_) planned_->LeaveForBackward();
  const auto is_computed = [&](int layer, int blob) {
    for (size_t i = layer + 1; i < layers_.size(); ++i) {
      for (size_t bottom = 0; bottom < bottom_vecs_[i].size(); ++bottom) {
        if (bottom_id_vecs_[i][bottom] == blob && bottom_need_backward_[i][bottom]) return true;
      }
    }
    return false;
  };
  const bool whole = start == static_cast<int>(layers_.size()) - 1;
  for (int i = start; i >= end; --i) {
    for (Callback* callback : before_backward_) callback->run(i);
    if (layer_need_backward_[i]) {
      // A derivative that no layer has written is zero, as in Caffe. In a whole backward that is
      // any derivative not written by now, in a partial one that of a top for which no later layer
      // computes it.
      for (size_t top = 0; top < top_vecs_[i].size(); ++top) {
        if (whole || !is_computed(i, top_id_vecs_[i][top]))
          DroppedValue::Forget(top_vecs_[i][top]->diff().get());
      }
      layers_[i]->Backward(top_vecs_[i], bottom_need_backward_[i], bottom_vecs_[i]);
      if (debug_info_) BackwardDebugInfo(i);
    }
    for (Callback* callback : after_backward_) callback->run(i);
  }
}

template <typename Dtype>
void Net<Dtype>::BackwardFrom(int start) {
  BackwardFromTo(start, 0);
}

template <typename Dtype>
void Net<Dtype>::BackwardTo(int end) {
  BackwardFromTo(static_cast<int>(layers_.size()) - 1, end);
}

template <typename Dtype>
void Net<Dtype>::Backward() {
  if (planned_ && !planned_->UserHasWrittenDerivatives()) {
    planned_->Backward();
  } else {
    BackwardFromTo(static_cast<int>(layers_.size()) - 1, 0);
  }
  if (debug_info_) LogNorms(*this);
}

template <typename Dtype>
void Net<Dtype>::ForwardDebugInfo(const int layer_id) {
  LogForward(*this, layer_id);
}

template <typename Dtype>
void Net<Dtype>::BackwardDebugInfo(const int layer_id) {
  LogBackward(*this, layer_id);
}

template <typename Dtype>
void Net<Dtype>::UpdateDebugInfo(const int param_id) {
  LogUpdate(*this, param_id);
}

template <typename Dtype>
void Net<Dtype>::Reshape() {
  for (size_t i = 0; i < layers_.size(); ++i) layers_[i]->Reshape(bottom_vecs_[i], top_vecs_[i]);
}

template <typename Dtype>
void Net<Dtype>::ClearParamDiffs() {
  for (const Blob<Dtype>* param : learnable_params_) param->diff()->SetZero();
}

template <typename Dtype>
void Net<Dtype>::Update() {
  for (Blob<Dtype>* param : learnable_params_) param->Update();
}

template <typename Dtype>
bool Net<Dtype>::updates_within_backward() const {
  return planned_ && planned_->UpdatesWithinBackward();
}

template <typename Dtype>
void Net<Dtype>::UpdateParams(const std::function<void(int)>& update) {
  const auto traced = [&](int id) {
    update(id);
    if (!debug_info_) return;
    for (size_t i = 0; i < params_.size(); ++i) {
      if (learnable_param_ids_[i] == id) UpdateDebugInfo(i);
    }
  };
  if (planned_) {
    planned_->Update(traced);
    return;
  }
  for (size_t i = 0; i < learnable_params_.size(); ++i) {
    if (params_lr_[i] != 0) traced(static_cast<int>(i));
  }
}

// ---- Weights ----

template <typename Dtype>
void Net<Dtype>::ShareWeights() {
  for (size_t i = 0; i < params_.size(); ++i) {
    if (param_owners_[i] < 0) continue;
    params_[i]->ShareData(*params_[param_owners_[i]]);
    params_[i]->ShareDiff(*params_[param_owners_[i]]);
  }
  ShareWeightsWithin();
}

/// Makes nets inside layers share the memory that their layers' parameters have now.
template <typename Dtype>
void Net<Dtype>::ShareWeightsWithin() {
  for (const auto& layer : layers_) {
    const InnerNet<Dtype> inner = layer->inner_net();
    if (inner.net) inner.net->ShareWeights();
  }
}

template <typename Dtype>
void Net<Dtype>::ShareTrainedLayersWith(const Net* other) {
  borrowed_.clear();
  // By owner: the parameter of `other` for all parameters shared with this owner that `other`
  // lacks. It may have any of them.
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
  CopyWeights(param, this);
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFrom(const string& trained_filename) {
  CopyWeightsOfFile(trained_filename, this);
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromBinaryProto(const string& trained_filename) {
  CopyWeightsOfBinaryFile(trained_filename, this);
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  CopyWeightsOfHdf5File(trained_filename, this);
}

template <typename Dtype>
void Net<Dtype>::ToProto(NetParameter* param, bool write_diff) const {
  param->Clear();
  param->set_name(name_);
  for (const auto& layer : layers_) layer->ToProto(param->add_layer(), write_diff);
}

template <typename Dtype>
void Net<Dtype>::ToHDF5(const string& filename, bool write_diff) const {
  AtomicFile file(filename);
  WriteNetToHdf5(*this, write_diff, &file);
  file.Commit();
}

INSTANTIATE_CLASS(Net);

}  // namespace caffe
