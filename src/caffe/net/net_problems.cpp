#include "net_problems.hpp"

#include <google/protobuf/message.h>

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <map>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/filler.hpp"
#include "caffe/layer_check.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/loaded_libraries.hpp"
#include "caffe/util/nearest_name.hpp"
#include "caffe/util/problem_list.hpp"
#include "caffe/util/shape_only.hpp"

namespace caffe {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class Search {
 public:
  Search(const NetParameter& net, const NetParameter& unfiltered)
      : net_(net), unfiltered_(unfiltered) {
    for (const LayerParameter& layer : net.layer()) FindProblemsOf(layer);
  }

  string Text() const;

 private:
  void Add(const LayerParameter& layer, const string& problem) {
    problems_.push_back((layer.origin().empty() ? "" : layer.origin() + ": ") + problem);
  }
  void FindProblemsOf(const LayerParameter& layer);
  void CheckType(const LayerParameter& layer);
  void CheckBottom(const LayerParameter& layer, int index);
  void CheckFillers(const LayerParameter& layer, const Message& message);
  void AddTops(const LayerParameter& layer);
  string Remedy() const;

  const NetParameter& net_;
  const NetParameter& unfiltered_;
  const std::vector<string> types_ = LayerRegistry<float>::LayerTypeList();
  const std::vector<string> fillers_ = FillerTypes();
  std::vector<string> problems_;
  /// A blob as a layer last wrote it.
  struct Value {
    const LayerParameter* maker;
    int readers;  ///< a weighted loss is one
  };
  std::map<string, Value> values_;
  bool lists_types_ = false;
  std::vector<const LayerParameter*> missing_;  ///< without types that may be misspelt
};

void Search::FindProblemsOf(const LayerParameter& layer) {
  CheckType(layer);
  CheckFillers(layer, layer);
  if (layer.propagate_down_size() > 0 && layer.propagate_down_size() != layer.bottom_size()) {
    Add(layer, "Layer " + layer.name() +
                   ": propagate_down must be specified either 0 times or once for each bottom.");
  }
  for (int i = 0; i < layer.bottom_size(); ++i) CheckBottom(layer, i);
  AddTops(layer);
}

void Search::CheckType(const LayerParameter& layer) {
  if (LayerRegistry<float>::Registry().count(layer.type()) > 0) {
    const string problem = LayerProblem(layer);
    if (problem.empty()) return;
    missing_.push_back(&layer);
    return Add(layer, problem);
  }
  const string like = DidYouMean(layer.type(), types_);
  if (like.empty()) {
    lists_types_ = true;
    missing_.push_back(&layer);
  }
  Add(layer, "Layer " + layer.name() + ": unknown layer type: " + layer.type() + like);
}

/// Returns the layer of the net that produces the blob, or null.
const LayerParameter* MakerOf(const NetParameter& net, const string& blob) {
  for (const LayerParameter& layer : net.layer()) {
    if (std::find(layer.top().begin(), layer.top().end(), blob) != layer.top().end()) return &layer;
  }
  return nullptr;
}

string NameOf(const LayerParameter& layer) {
  return "layer " + layer.name() + (layer.origin().empty() ? "" : " (" + layer.origin() + ")");
}

/// Says why `layer` of the net is left out in `phase`.
string WhyLeftOut(const LayerParameter& layer, Phase phase) {
  const Phase other = phase == TRAIN ? TEST : TRAIN;
  const auto names = [](const auto& rules, Phase wanted) {
    return std::any_of(rules.begin(), rules.end(), [wanted](const NetStateRule& rule) {
      return rule.has_phase() && rule.phase() == wanted;
    });
  };
  if (names(layer.include(), other) || names(layer.exclude(), phase)) {
    return ", but only in phase " + Phase_Name(other) +
           ": plan, compare and time take --phase=" + Phase_Name(other);
  }
  return ", but its rules leave it out: see --level and --stage";
}

void Search::CheckBottom(const LayerParameter& layer, int index) {
  const string& blob = layer.bottom(index);
  if (const auto value = values_.find(blob); value != values_.end()) {
    ++value->second.readers;
    return;
  }
  string problem = "Unknown bottom blob '" + blob + "' (layer '" + layer.name() +
                   "', bottom index " + std::to_string(index) + "): no layer above produces it";
  if (const LayerParameter* below = MakerOf(net_, blob)) {
    problem += "; " + NameOf(*below) + " does";
  } else if (const LayerParameter* other = MakerOf(unfiltered_, blob)) {
    problem += "; " + NameOf(*other) + " does" + WhyLeftOut(*other, net_.state().phase());
  } else {
    std::vector<string> blobs;
    for (const auto& [name, value] : values_) blobs.push_back(name);
    problem += DidYouMean(blob, blobs);
  }
  Add(layer, problem);
}

void Search::CheckFillers(const LayerParameter& layer, const Message& message) {
  const auto check = [&](const FieldDescriptor* field, const Message& part) {
    const auto* const filler = dynamic_cast<const FillerParameter*>(&part);
    if (filler == nullptr) return CheckFillers(layer, part);
    const string& type = filler->type();
    if (std::find(fillers_.begin(), fillers_.end(), type) != fillers_.end()) return;
    string hint = DidYouMean(type, fillers_);
    if (hint.empty()) hint = " (there are " + boost::algorithm::join(fillers_, ", ") + ")";
    Add(layer,
        "Layer " + layer.name() + ": " + field->name() + ": Unknown filler name: " + type + hint);
  };
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const auto& reflection = *message.GetReflection();
    if (!field->is_repeated()) {
      check(field, reflection.GetMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      check(field, reflection.GetRepeatedMessage(message, field, i));
  }
}

void Search::AddTops(const LayerParameter& layer) {
  for (int i = 0; i < layer.top_size(); ++i) {
    const string& blob = layer.top(i);
    const bool in_place = i < layer.bottom_size() && blob == layer.bottom(i);
    const bool weighted = i < layer.loss_weight_size() && layer.loss_weight(i) != 0;
    const Value made = {&layer, weighted ? 1 : 0};
    const auto [value, fresh] = values_.emplace(blob, made);
    if (fresh) continue;
    if (!in_place || value->second.readers > 1) {
      Add(layer, "Top blob '" + blob + "' produced by multiple sources (layer " + layer.name() +
                     " and layer " + value->second.maker->name() + ")" +
                     (in_place ? ": others read it too, so no layer can work on it in place; give "
                                 "the top a name of its own"
                               : "."));
    }
    value->second = made;
  }
}

/// "\nThe libraries a.so, b.so are loaded, and ..."; "" where there are none.
string WhatIsLoaded() {
  const std::vector<string>& libraries = LoadedLibraries();
  if (libraries.empty()) return "";
  string names;
  for (const string& name : libraries) names += (names.empty() ? "" : ", ") + name;
  const bool one = libraries.size() == 1;
  return (one ? "\nThe library " : "\nThe libraries ") + names +
         (one ? " is loaded, and registers" : " are loaded, and register") +
         " no such type (REGISTER_LAYER_CLASS does).";
}

/// Says what to do about missing layers.
string Search::Remedy() const {
  if (missing_.empty()) return "";
  const string loaded = lists_types_ ? WhatIsLoaded() : "";
  if (!ShapeOnlyScope::Active()) {
    if (!lists_types_) return "";  // the problems of the other layers say what to do
    return loaded +
           "\nTo run the net, compile the layers that are missing into the program, or name a "
           "library that has them: layrub --load=my_layers.so. 'layrub plan' can do without them.";
  }
  string shapes;
  for (const LayerParameter* layer : missing_) {
    for (const string& top : layer->top()) shapes += (shapes.empty() ? "" : ",") + top + ":SHAPE";
  }
  if (shapes.empty()) return loaded;
  return loaded +
         "\nTo plan without the layers that are missing, give the shapes of their tops, batch "
         "included, as rois:300,5: --top_shape=" +
         shapes;
}

string Search::Text() const {
  if (problems_.empty()) return "";
  const bool one = problems_.size() == 1;
  string text = one ? "" : "The net has " + std::to_string(problems_.size()) + " problems:\n";
  text += ProblemList(problems_);
  if (lists_types_) {
    text += one ? " (known types: " : "\n(known types: ";
    for (const string& type : types_) text += (&type == &types_.front() ? "" : ", ") + type;
    text += ")";
  }
  return text + Remedy();
}

}  // namespace

string NetProblems(const NetParameter& net, const NetParameter& unfiltered) {
  return Search(net, unfiltered).Text();
}

}  // namespace caffe
