#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "caffe/partition.hpp"
#include "caffe/util/layout_proto.hpp"

namespace caffe {
namespace {

using layrub::Layout;
using layrub::Level;
using layrub::Share;
using layrub::partition::Operation;
using layrub::partition::Partition;

bool IsWhole(const Layout& layout) {
  return std::all_of(layout.levels.begin(), layout.levels.end(),
                     [](const Level& level) { return level == layrub::Whole(); });
}

class LocalNetWriter {
 public:
  LocalNetWriter(const NetAxes& axes, const Partition& partition)
      : axes_(axes), partition_(partition) {
    out_ = axes.net;
    out_.clear_layer();
    for (const LayerParameter& layer : axes.net.layer()) {
      for (const string& top : layer.top()) reserved_.insert(top);
    }
  }

  NetParameter Write() {
    FindOutputs();
    for (int o = 0; o < axes_.net.layer_size(); ++o) AddLayer(o);
    for (const int value : outputs_) AddWholeOutput(value);
    return std::move(out_);
  }

 private:
  /// In a test net, all devices get the outputs whole, as scores.
  void FindOutputs() {
    if (axes_.net.state().phase() != TEST) return;
    std::map<string, int> newest;
    const auto& values = axes_.network.values;
    for (int v = 0; v < static_cast<int>(values.size()); ++v) newest[values[v].name] = v;
    for (const auto& [name, value] : newest) {
      const auto& levels = Home(value).levels;
      const bool in_parts = std::any_of(levels.begin(), levels.end(), [](const Level& level) {
        return level.share == Share::kCut || level.share == Share::kPart;
      });
      if (in_parts) outputs_.insert(value);
    }
    for (const Operation& op : axes_.network.operations) {
      for (const int value : op.inputs) outputs_.erase(value);
    }
  }

  void AddWholeOutput(int value) {
    const Layout home = Home(value);
    Layout whole = home;
    std::fill(whole.levels.begin(), whole.levels.end(), layrub::Whole());
    const string from = names_.at({value, Key(home)});
    *out_.add_layer() = Exchange(from, home, Fresh(axes_.network.values[value].name), whole);
  }

  void AddLayer(int o) {
    const Operation& op = axes_.network.operations[o];
    LayerParameter layer = axes_.net.layer(o);
    layer.clear_include();
    layer.clear_exclude();
    const LayerAxis* summed = nullptr;
    for (size_t a = 0; a < op.axes.size(); ++a) {
      const LayerAxis& axis = axes_.rules[o].axes[a];
      const int parts = layrub::partition::Parts(partition_, o, static_cast<int>(a));
      if (parts == 1) continue;
      if (axis.narrow) axis.narrow(&layer, parts);
      if (!axis.on_sum.type().empty()) summed = &axis;
    }
    for (int i = 0; i < layer.bottom_size(); ++i) {
      const Layout need = layrub::partition::InputLayout(axes_.network, partition_, o, i);
      layer.set_bottom(i, NameOf(op.inputs[i], need));
    }
    if (axes_.rules[o].tells_layout) {
      const Layout layout = layrub::partition::OutputLayout(axes_.network, partition_, o, 0);
      if (!IsWhole(layout)) *layer.mutable_layout() = ToProto(layout);
    }
    AddParamLayouts(o, &layer);
    LayerParameter on_sum;
    if (summed) on_sum = TakeLastParam(o, *summed, &layer);
    const LayerParameter& whole = axes_.net.layer(o);
    vector<LayerParameter> after;
    for (int i = 0; i < layer.top_size(); ++i) {
      const int value = op.outputs[i];
      const Layout made = layrub::partition::OutputLayout(axes_.network, partition_, o, i);
      const Layout home = Home(value);
      int in_place = -1;  // the bottom that the layer overwrites, if any
      for (int b = 0; b < whole.bottom_size(); ++b) {
        if (whole.bottom(b) == whole.top(i)) in_place = b;
      }
      const string final_name = HomeName(value, in_place < 0 ? "" : layer.bottom(in_place),
                                         in_place >= 0 && made == home);
      if (made == home) {
        layer.set_top(i, final_name);
        continue;
      }
      layer.set_top(i, Fresh(final_name + "/made"));
      after.push_back(Exchange(layer.top(i), made, final_name, home));
    }
    *out_.add_layer() = layer;
    for (const LayerParameter& exchange : after) *out_.add_layer() = exchange;
    if (summed) {
      on_sum.add_bottom(names_.at({op.outputs[0], Key(Home(op.outputs[0]))}));
      on_sum.add_top(on_sum.bottom(0));
      *out_.add_layer() = on_sum;
    }
  }

  Layout Home(int value) const { return layrub::partition::Home(axes_.network, partition_, value); }

  void AddParamLayouts(int o, LayerParameter* layer) const {
    const Operation& op = axes_.network.operations[o];
    for (int i = 0; i < static_cast<int>(op.params.size()); ++i) {
      const Layout layout = layrub::partition::ParamLayout(axes_.network, partition_, o, i);
      if (IsWhole(layout)) continue;
      while (layer->param_size() <= i) layer->add_param();
      *layer->mutable_param(i)->mutable_layout() = ToProto(layout);
    }
  }

  /// Returns the layer that adds the bias to the finished sum. It takes over the last parameter of
  /// `layer`.
  LayerParameter TakeLastParam(int o, const LayerAxis& axis, LayerParameter* layer) const {
    const Operation& op = axes_.network.operations[o];
    LayerParameter on_sum = axis.on_sum;
    on_sum.set_name(layer->name() + "/bias");
    ParamSpec* const spec = on_sum.add_param();
    const int last = static_cast<int>(op.params.size()) - 1;
    if (layer->param_size() > last) {
      *spec = layer->param(last);
      spec->clear_layout();
      layer->mutable_param()->RemoveLast();
    }
    // The only dimension of the parameter is the channels of the sum.
    const int channel = axis.on_sum.bias_param().axis();
    Layout layout{op.params[last].dims, {}, {}};
    const Layout home = Home(op.outputs[0]);
    if (static_cast<int>(home.joined.size()) > channel) layout.joined = {home.joined[channel]};
    for (const Level& level : home.levels) {
      const bool whole = level.share == Share::kWhole;
      layout.levels.push_back(level == layrub::Cut(channel) ? layrub::Cut(0)
                              : whole                       ? layrub::Whole()
                                                            : layrub::PartGradient());
    }
    if (!IsWhole(layout)) *spec->mutable_layout() = ToProto(layout);
    return on_sum;
  }

  LayerParameter Exchange(const string& bottom, const Layout& from, const string& top,
                          const Layout& to) {
    LayerParameter layer;
    layer.set_name("exchange " + std::to_string(++exchanges_) + ": " + top);
    std::replace(layer.mutable_name()->begin(), layer.mutable_name()->end(), ' ', '_');
    layer.set_type("Exchange");
    layer.add_bottom(bottom);
    layer.add_top(top);
    *layer.mutable_exchange_param()->mutable_from() = ToProto(from);
    *layer.mutable_exchange_param()->mutable_to() = ToProto(to);
    return layer;
  }

  /// Returns the blob that has the value in layout `need`. Adds an Exchange layer if there is none
  /// yet.
  string NameOf(int value, const Layout& need) {
    const auto found = names_.find({value, Key(need)});
    if (found != names_.end()) return found->second;
    const Layout home = Home(value);
    const string from = names_.at({value, Key(home)});
    const string name = Fresh(axes_.network.values[value].name + "/" + Text(need));
    *out_.add_layer() = Exchange(from, home, name, need);
    names_[{value, Key(need)}] = name;
    return name;
  }

  /// Names the value's blob in its home layout. If `stays`, its layer still works in place on the
  /// blob `in_place_on`.
  string HomeName(int value, const string& in_place_on, bool stays) {
    const string& whole_name = axes_.network.values[value].name;
    const string name =
        stays ? in_place_on : Fresh(outputs_.count(value) > 0 ? whole_name + "/part" : whole_name);
    names_[{value, Key(Home(value))}] = name;
    return name;
  }

  /// Returns `name`, with a number appended if the net has that name already.
  string Fresh(const string& name) {
    string fresh = name;
    for (int i = 2; !used_.insert(fresh).second || (fresh != name && reserved_.count(fresh)); ++i)
      fresh = name + "/" + std::to_string(i);
    return fresh;
  }

  using LayoutKey = vector<std::pair<int, int>>;
  static LayoutKey Key(const Layout& layout) {
    LayoutKey key;
    for (const Level& level : layout.levels)
      key.emplace_back(static_cast<int>(level.share), level.dim);
    return key;
  }

  /// Returns text like "0,1": the dimension that is cut on each level, or "whole" or "copy".
  static string Text(const Layout& layout) {
    string text;
    for (const Level& level : layout.levels) {
      text += text.empty() ? "" : ",";
      text += level.share == Share::kCut            ? std::to_string(level.dim)
              : level.share == Share::kPartGradient ? "copy"
                                                    : "whole";
    }
    return text;
  }

  const NetAxes& axes_;
  const Partition& partition_;
  NetParameter out_;
  std::map<std::pair<int, LayoutKey>, string> names_;  ///< by value and layout
  std::set<string> used_, reserved_;
  std::set<int> outputs_;  ///< values that no layer reads and that are in parts
  int exchanges_ = 0;
};

}  // namespace

NetParameter LocalNet(const NetAxes& axes, const Partition& partition) {
  return LocalNetWriter(axes, partition).Write();
}

}  // namespace caffe
