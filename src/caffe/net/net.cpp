#include "caffe/net.hpp"

#include <algorithm>

#include "caffe/planned_net.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/insert_splits.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/set_up_log.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "net_problems.hpp"

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
  CreateLayers(param, &blob_name_to_idx, &available_blobs);
  FindBackward(param.force_backward());

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
  FindOverwritten();
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

INSTANTIATE_CLASS(Net);

}  // namespace caffe
