#include "flat_net.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "caffe/parameter_callback.hpp"
#include "caffe/placement.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/inner_names.hpp"
#include "slices.hpp"

namespace caffe {
namespace {

/// What a net inside a layer takes over from the layer. Empty for the outermost net.
template <typename Dtype>
struct Surroundings {
  const typename FlatNet<Dtype>::LayerEntry* layer = nullptr;
  std::map<string, int> blobs;  ///< ids of its bottoms and tops, by their names inside
  std::set<string> bottoms;     ///< names inside
  std::map<int, bool> wanted;   ///< by id of a bottom: whether its gradient is wanted
};

template <typename Dtype>
class Flattener {
 public:
  explicit Flattener(size_t learnable) : learnable_(static_cast<int>(learnable)) {}

  void Unfold(const Net<Dtype>& net, const Surroundings<Dtype>& around) {
    const vector<int> blobs = BlobIds(net, around);
    const vector<int> params = ParamIds(net, around);
    const auto ids = [&](const vector<int>& indices) {
      vector<int> result;
      for (int index : indices) result.push_back(blobs[index]);
      return result;
    };
    std::map<int, bool> wanted = around.wanted;
    auto param = params.begin();
    for (size_t i = 0; i < net.layers().size(); ++i) {
      Entry entry;
      entry.layer = net.layers()[i].get();
      entry.name = LayerName(around, net.layer_names()[i]);
      entry.owner = entry.last_owner = around.layer ? around.layer->owner : static_cast<int>(i);
      entry.bottom = ids(net.bottom_ids(i));
      entry.top = ids(net.top_ids(i));
      entry.params.assign(param, param + entry.layer->blobs().size());
      param += entry.layer->blobs().size();
      entry.need_backward = net.layer_need_backward()[i];
      entry.propagate_down = net.bottom_need_backward()[i];
      if (around.layer) Narrow(around, wanted, &entry);
      for (int top : entry.top) {
        if (entry.bottom.empty()) {
          wanted.emplace(top, entry.need_backward);  // if given from outside, it is set already
        } else {
          wanted[top] = entry.need_backward;
        }
      }
      Add(entry, net, i, around);
    }
  }

  FlatNet<Dtype> flat;

 private:
  using Entry = typename FlatNet<Dtype>::LayerEntry;

  static string Prefix(const Surroundings<Dtype>& around) {
    return around.layer ? around.layer->name + "/" : "";
  }

  /// "lstm1/unit_3"
  static string LayerName(const Surroundings<Dtype>& around, const string& name) {
    if (!around.layer) return name;
    return Prefix(around) + NameInside(around.layer->layer->layer_param().name(), name);
  }

  vector<int> BlobIds(const Net<Dtype>& net, const Surroundings<Dtype>& around) {
    vector<int> ids;
    for (size_t i = 0; i < net.blobs().size(); ++i) {
      const auto given = around.blobs.find(net.blob_names()[i]);
      if (given != around.blobs.end()) {
        ids.push_back(given->second);
        continue;
      }
      ids.push_back(static_cast<int>(flat.blobs.size()));
      flat.blobs.push_back({Prefix(around) + net.blob_names()[i], net.blobs()[i].get()});
    }
    return ids;
  }

  /// Returns ids by index into Net::params. A parameter is named after its first layer and its
  /// index there.
  vector<int> ParamIds(const Net<Dtype>& net, const Surroundings<Dtype>& around) {
    std::map<const Blob<Dtype>*, int> given;
    for (size_t i = 0; around.layer && i < around.layer->params.size(); ++i)
      given[around.layer->layer->blobs()[i].get()] = around.layer->params[i];
    vector<int> ids;
    for (size_t i = 0; i < net.layers().size(); ++i) {
      for (size_t k = 0; k < net.layers()[i]->blobs().size(); ++k) {
        const size_t param = ids.size();
        const int owner = net.param_owners()[param];
        Blob<Dtype>* blob = net.params()[param].get();
        if (owner >= 0) {
          ids.push_back(ids[owner]);
        } else if (given.count(blob)) {
          ids.push_back(given[blob]);
        } else {
          ids.push_back(static_cast<int>(flat.params.size()));
          flat.params.push_back(
              {LayerName(around, net.layer_names()[i]) + "[" + std::to_string(k) + "]", blob});
        }
      }
    }
    return ids;
  }

  /// Inside a layer, limits the backward to the gradients wanted outside and those needed for them.
  void Narrow(const Surroundings<Dtype>& around, const std::map<int, bool>& wanted, Entry* entry) {
    bool needed = false;
    for (size_t i = 0; i < entry->bottom.size(); ++i) {
      entry->propagate_down[i] = entry->propagate_down[i] && wanted.at(entry->bottom[i]);
      needed |= entry->propagate_down[i];
    }
    for (size_t i = 0; i < entry->params.size(); ++i)
      needed |= entry->params[i] < learnable_ && entry->layer->param_propagate_down(i);
    entry->need_backward = entry->need_backward && around.layer->need_backward && needed;
  }

  MemoryTraits TraitsOf(const Entry& entry) const {
    return entry.layer->Traits(flat.Blobs(entry.bottom), flat.Blobs(entry.top),
                               entry.propagate_down);
  }

  /// Adds the layer, or the layers of the net inside it. Leaves out Input layers whose tops come
  /// from outside.
  void Add(const Entry& entry, const Net<Dtype>& net, int layer,
           const Surroundings<Dtype>& around) {
    const InnerNet<Dtype> inner = entry.layer->inner_net();
    // A derived class may do more in its functions than run the net.
    if (!inner.net || TraitsOf(entry).inherited) {
      const vector<int>& tops = net.top_ids(layer);
      const bool given = std::all_of(tops.begin(), tops.end(), [&](int top) {
        return around.bottoms.count(net.blob_names()[top]) > 0;
      });
      if (!given || !entry.bottom.empty() || tops.empty()) flat.layers.push_back(entry);
      return;
    }
    Surroundings<Dtype> inside;
    inside.layer = &entry;
    for (size_t i = 0; i < inner.bottoms.size(); ++i) {
      inside.blobs[inner.bottoms[i]] = entry.bottom[i];
      inside.bottoms.insert(inner.bottoms[i]);
      inside.wanted[entry.bottom[i]] = entry.propagate_down[i];
    }
    for (size_t i = 0; i < inner.tops.size(); ++i) inside.blobs[inner.tops[i]] = entry.top[i];
    Unfold(*inner.net, inside);
  }

  const int learnable_;
};

/// Whether `next` works in place on the only top of `entry`, and either both have a backward or
/// neither has. Then no other layer sees the value between them.
template <typename Dtype>
bool IsInPlaceAfter(const typename FlatNet<Dtype>::LayerEntry& entry,
                    const typename FlatNet<Dtype>::LayerEntry& next) {
  const auto shares_params = [&](int param) {
    return std::count(entry.params.begin(), entry.params.end(), param) > 0;
  };
  return entry.top.size() == 1 && next.top == entry.top && next.bottom == entry.top &&
         next.propagate_down[0] == entry.need_backward && entry.layer->loss(0) == Dtype(0) &&
         next.layer->loss(0) == Dtype(0) &&
         std::none_of(next.params.begin(), next.params.end(), shares_params);
}

/// What must not be fused, according to the traits of the layers.
template <typename Dtype>
struct NotToFuse {
  explicit NotToFuse(const FlatNet<Dtype>& flat) {
    for (const auto& entry : flat.layers) {
      const MemoryTraits traits = entry.layer->PlannedTraits(
          flat.Blobs(entry.bottom), flat.Blobs(entry.top), entry.propagate_down);
      if (traits.varying) all = true;
      if (traits.declared) continue;
      blobs.insert(entry.bottom.begin(), entry.bottom.end());
      blobs.insert(entry.top.begin(), entry.top.end());
    }
  }
  bool all = false;     ///< fuse nothing: a pass may leave the plan in the middle
  std::set<int> blobs;  ///< blobs of layers without traits, which may write them at any time
};

template <typename Dtype>
void FuseLayers(FlatNet<Dtype>* flat) {
  using Entry = typename FlatNet<Dtype>::LayerEntry;
  const NotToFuse<Dtype> apart(*flat);
  vector<Entry> layers;
  for (size_t i = 0; i < flat->layers.size(); ++i) {
    const Entry& next = flat->layers[i];
    const bool may = i > 0 && !apart.all && IsInPlaceAfter<Dtype>(layers.back(), next) &&
                     apart.blobs.count(next.top[0]) == 0;
    const auto fused =
        may ? layers.back().layer->FusedWith(*next.layer, flat->Blobs(layers.back().bottom))
            : nullptr;
    if (!fused) {
      layers.push_back(next);
      continue;
    }
    Entry& entry = layers.back();
    entry.own = fused;
    entry.layer = fused.get();
    entry.name += "+" + next.name;
    entry.last_owner = next.last_owner;
    entry.need_backward = entry.need_backward || next.need_backward;
    entry.params.insert(entry.params.end(), next.params.begin(), next.params.end());
  }
  flat->layers = std::move(layers);
}

/// Aborts, naming the layer, if a top was never given a shape.
template <typename Dtype>
void CheckShapes(const Net<Dtype>& net) {
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const LayerParameter& layer = net.layers()[i]->layer_param();
    const FailureScope scope(layer);
    for (size_t k = 0; k < net.top_vecs()[i].size(); ++k) {
      CHECK(net.top_vecs()[i][k]->HasShape())
          << "Layer " << layer.name() << " (" << layer.type() << "): its top '"
          << net.blob_names()[net.top_ids(static_cast<int>(i))[k]]
          << "' has no shape; a memory plan needs one. Set it in the layer's Reshape or in the "
             "program.";
    }
  }
}

}  // namespace

template <typename Dtype>
bool Unwatched(const Net<Dtype>& net) {
  const auto watches = [](const typename Net<Dtype>::Callback* callback) {
    return dynamic_cast<const ParameterCallback<Dtype>*>(callback) == nullptr;
  };
  const auto unwatched = [&](const auto& callbacks) {
    return std::none_of(callbacks.begin(), callbacks.end(), watches);
  };
  return !net.debug_info() && unwatched(net.before_forward()) && unwatched(net.after_forward()) &&
         unwatched(net.before_backward()) && unwatched(net.after_backward());
}

template <typename Dtype>
FlatNet<Dtype> Flatten(const Net<Dtype>& net, bool fuse, const vector<string>& keep,
                       const Slicing& slicing) {
  CheckShapes(net);
  Flattener<Dtype> flattener(net.learnable_params().size());
  flattener.Unfold(net, Surroundings<Dtype>());
  if (Unwatched(net)) {
    if (slicing.parts > 1) SliceLayers(net, keep, slicing, &flattener.flat);
    if (fuse) FuseLayers(&flattener.flat);
  }
  return std::move(flattener.flat);
}

template bool Unwatched(const Net<float>&);
template bool Unwatched(const Net<double>&);
template FlatNet<float> Flatten(const Net<float>&, bool, const vector<string>&, const Slicing&);
template FlatNet<double> Flatten(const Net<double>&, bool, const vector<string>&, const Slicing&);

}  // namespace caffe
