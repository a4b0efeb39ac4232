#include "caffe/util/origins.hpp"

#include <google/protobuf/descriptor.h>

#include <algorithm>

namespace caffe {

using google::protobuf::TextFormat;

Origins::Origins(const std::string& file, const TextFormat::ParseInfoTree& places,
                 const NetParameter& net) {
  const auto add = [&](const char* field, int index, const std::string& name) {
    const auto place =
        places.GetLocation(NetParameter::descriptor()->FindFieldByName(field), index);
    layers_.push_back({name, file + ":" + std::to_string(place.line + 1), ""});
  };
  for (int i = 0; i < net.layer_size(); ++i) add("layer", i, net.layer(i).name());
  new_layers_ = layers_.size();
  for (int i = 0; i < net.layers_size(); ++i) {
    const V1LayerParameter& layer = net.layers(i);
    add("layers", i, layer.has_layer() ? layer.layer().name() : layer.name());
  }
}

void Origins::AddUnknownType(int index, const std::string& type) {
  layers_[new_layers_ + index].unknown_type = type;
}

void Origins::Set(NetParameter* net) const {
  auto next = layers_.begin();
  for (LayerParameter& layer : *net->mutable_layer()) {
    const auto found = std::find_if(next, layers_.end(),
                                    [&](const Entry& entry) { return entry.name == layer.name(); });
    if (found == layers_.end()) continue;
    layer.set_origin(found->origin);
    if (!found->unknown_type.empty()) layer.set_type(found->unknown_type);
    next = found + 1;
  }
}

void SetOrigins(const std::string& file, const TextFormat::ParseInfoTree& places,
                SolverParameter* solver) {
  const auto set = [&](const char* field, int index, NetParameter* net) {
    const auto* nets = SolverParameter::descriptor()->FindFieldByName(field);
    Origins(file, *places.GetTreeForNested(nets, index), *net).Set(net);
  };
  if (solver->has_net_param()) set("net_param", -1, solver->mutable_net_param());
  if (solver->has_train_net_param()) set("train_net_param", -1, solver->mutable_train_net_param());
  for (int i = 0; i < solver->test_net_param_size(); ++i)
    set("test_net_param", i, solver->mutable_test_net_param(i));

  SolverOrigin* const origin = solver->mutable_origin();
  origin->set_file(file);
  const auto* const type = SolverParameter::descriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const auto* const field = type->field(i);
    const int line = places.GetLocation(field, field->is_repeated() ? 0 : -1).line;
    if (line >= 0) (*origin->mutable_line())[field->name()] = line + 1;
  }
}

NetParameter WithoutOrigins(const NetParameter& net) {
  NetParameter result = net;
  for (LayerParameter& layer : *result.mutable_layer()) layer.clear_origin();
  return result;
}

SolverParameter WithoutOrigins(const SolverParameter& solver) {
  SolverParameter result = solver;
  result.clear_origin();
  const auto clear = [](NetParameter* net) { *net = WithoutOrigins(*net); };
  if (result.has_net_param()) clear(result.mutable_net_param());
  if (result.has_train_net_param()) clear(result.mutable_train_net_param());
  for (NetParameter& net : *result.mutable_test_net_param()) clear(&net);
  return result;
}

}  // namespace caffe
