// Nets and solvers from files (upgrade_proto.hpp).
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layer_factory.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/text_file.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using OnlyShapesMatter = std::function<bool(const LayerParameter&)>;

// The net-level snapshot_prefix rule of ReadSolverParamsFromTextFileOrDie.
void CompleteSnapshotPrefix(const string& param_file, SolverParameter* param) {
  namespace fs = std::filesystem;
  const fs::path file(param_file);
  if (!param->has_snapshot_prefix()) {
    param->set_snapshot_prefix((file.parent_path() / file.stem()).string());
    LOG(INFO) << "snapshot_prefix was not specified and is set to " << param->snapshot_prefix();
  } else if (std::error_code ignored; fs::is_directory(param->snapshot_prefix(), ignored)) {
    param->set_snapshot_prefix((fs::path(param->snapshot_prefix()) / file.stem()).string());
    LOG(INFO) << "snapshot_prefix was a directory and is replaced to " << param->snapshot_prefix();
  }
}

// A net that is a text file or a field of one.
struct NetOfText {
  NetParameter* net;
  const TextFormat::ParseInfoTree* places;
  std::map<int, string> unknown_types;  // by the index of the V1 layer
};

// Finds the layers to which unknown parts of a text belong, by their positions.
class LayersOfText {
 public:
  LayersOfText(const Message& text, const TextPlaces& places, std::vector<NetOfText>* nets) {
    AddBounds(text, *places);
    for (NetOfText& net : *nets) AddLayers(&net);
  }

  // Returns additional information about an unknown field.
  string Hint(const TextProblems::Unknown& part) {
    const Found* found = At(part);
    if (found == nullptr || found->layer.type().empty()) return "";
    const string& type = found->layer.type();
    if (LayerRegistry<float>::Registry().count(type) > 0) return "";
    return ". Layers of type " + type +
           " are not known here: docs/add-a-layer.md says how to add both, and 'layrub plan' can "
           "do without them.";
  }

  // The unknown part may be the type of the layer itself.
  bool Has(const TextProblems::Unknown& part, const OnlyShapesMatter& is_wanted) {
    Found* found = At(part);
    if (found == nullptr) return false;
    if (part.value.empty()) return is_wanted(found->layer);
    if (part.field != "type" || !found->layer.type().empty()) return false;
    found->layer.set_type(part.value);
    if (!is_wanted(found->layer)) return false;
    found->net->unknown_types[found->index] = part.value;
    return true;
  }

 private:
  using Place = std::pair<int, int>;  // line and column
  struct Found {
    NetOfText* net;  // null if no layer begins here
    int index;
    LayerParameter layer;
  };

  static Place PlaceOf(const TextFormat::ParseInfoTree& places, const FieldDescriptor* field,
                       int index) {
    const auto place = places.GetLocation(field, field->is_repeated() ? index : -1);
    return {place.line, place.column};
  }

  // Adds the places where other messages begin, which end the preceding layer.
  void AddBounds(const Message& message, const TextFormat::ParseInfoTree& places) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count =
          field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) found_[PlaceOf(places, field, i)] = {nullptr, 0, {}};
    }
  }

  void AddLayers(NetOfText* text) {
    const NetParameter& net = *text->net;
    AddBounds(net, *text->places);
    const auto add = [&](const char* field, int index, LayerParameter layer) {
      const auto* const layers = NetParameter::descriptor()->FindFieldByName(field);
      found_[PlaceOf(*text->places, layers, index)] = {text, index, std::move(layer)};
    };
    for (int i = 0; i < net.layer_size(); ++i) add("layer", i, net.layer(i));
    for (int i = 0; i < net.layers_size(); ++i) {
      LayerParameter layer;
      const V1LayerParameter& v1 = net.layers(i);
      if (!v1.has_layer()) UpgradeV1LayerParameter(v1, &layer);
      add("layers", i, layer);
    }
  }

  Found* At(const TextProblems::Unknown& part) {
    if (part.message == "NetParameter" || part.message == "SolverParameter") return nullptr;
    const auto next = found_.upper_bound({part.line, part.column});
    if (next == found_.begin()) return nullptr;
    Found& found = std::prev(next)->second;
    return found.net == nullptr ? nullptr : &found;
  }

  std::map<Place, Found> found_;
};

void ExcuseUnknownParts(const Message& text, const TextPlaces& places,
                        const OnlyShapesMatter& only_shapes_matter, std::vector<NetOfText>* nets,
                        TextProblems* problems) {
  LayersOfText layers(text, places, nets);
  problems->Excuse(
      [&](const TextProblems::Unknown& part) { return layers.Has(part, only_shapes_matter); },
      "it is passed over, as nothing but shapes matters of the layers that have it.");
  problems->Explain([&](const TextProblems::Unknown& part) { return layers.Hint(part); });
}

// Returns the nets in the fields of a solver.
std::vector<NetOfText> NetsOf(SolverParameter* solver, const TextPlaces& places) {
  std::vector<NetOfText> nets;
  const auto add = [&](const char* field, int index, NetParameter* net) {
    const auto* const type = SolverParameter::descriptor()->FindFieldByName(field);
    nets.push_back({net, places->GetTreeForNested(type, index), {}});
  };
  if (solver->has_net_param()) add("net_param", -1, solver->mutable_net_param());
  if (solver->has_train_net_param()) add("train_net_param", -1, solver->mutable_train_net_param());
  for (int i = 0; i < solver->test_net_param_size(); ++i)
    add("test_net_param", i, solver->mutable_test_net_param(i));
  return nets;
}

// Upgrades a net and sets the origins and unknown types of its layers.
void Upgrade(const string& file, const NetOfText& text) {
  Origins origins(file, *text.places, *text.net);
  for (const auto& [index, type] : text.unknown_types) origins.AddUnknownType(index, type);
  UpgradeNetAsNeeded(file, text.net);
  origins.Set(text.net);
}

}  // namespace

void ReadNetParamsFromTextFileOrDie(const string& param_file, NetParameter* param,
                                    const OnlyShapesMatter& only_shapes_matter) {
  TextPlaces places;
  std::vector<NetOfText> nets;
  const auto review = [&](const TextPlaces& read, TextProblems* problems) {
    nets = {{param, read.get(), {}}};
    ExcuseUnknownParts(*param, read, only_shapes_matter, &nets, problems);
  };
  ReadTextFileOrDie(param_file, param, &places, review);
  CHECK(param->layer_size() + param->layers_size() + param->input_size() > 0)
      << param_file << ": there is no layer in it.";
  Upgrade(param_file, nets.front());
}

void ReadNetParamsFromTextFileOrDie(const string& param_file, NetParameter* param) {
  ReadNetParamsFromTextFileOrDie(param_file, param, [](const LayerParameter&) { return false; });
}

void ReadNetParamsFromBinaryFileOrDie(const string& param_file, NetParameter* param) {
  ReadProtoFromBinaryFileOrDie(param_file, param);
  CHECK(param->layer_size() > 0 || param->layers_size() > 0)
      << param_file << " holds no layers: it is empty, or no .caffemodel.";
  UpgradeNetAsNeeded(param_file, param);
}

void ReadSolverParamsFromTextFileOrDie(const string& param_file, SolverParameter* param) {
  TextPlaces places;
  ReadTextFileOrDie(param_file, param, &places);
  SetOrigins(param_file, *places, param);
  UpgradeSolverAsNeeded(param_file, param);
  CompleteSnapshotPrefix(param_file, param);
}

void ReadSolverParamsFromTextFileOrDie(const string& param_file, SolverParameter* param,
                                       const OnlyShapesMatter& only_shapes_matter) {
  TextPlaces places;
  std::vector<NetOfText> nets;
  const auto review = [&](const TextPlaces& read, TextProblems* problems) {
    nets = NetsOf(param, read);
    ExcuseUnknownParts(*param, read, only_shapes_matter, &nets, problems);
  };
  ReadTextFileOrDie(param_file, param, &places, review);
  SetOrigins(param_file, *places, param);
  for (const NetOfText& net : nets) Upgrade(param_file, net);
  UpgradeSolverAsNeeded(param_file, param);
  CompleteSnapshotPrefix(param_file, param);
}

}  // namespace caffe
