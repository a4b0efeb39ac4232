#include "overwritten.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace caffe {

template <typename Dtype>
void SetOverwrittenFlags(const Net<Dtype>& net) {
  // Blobs that are views of each other share the memory of their root. The behaviour of a layer
  // without traits is unknown: its tops may be views of bottoms of the same size.
  vector<int> root(net.blobs().size());
  for (size_t i = 0; i < root.size(); ++i) root[i] = static_cast<int>(i);
  vector<int> possible_root = root;
  vector<MemoryTraits> traits;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    traits.push_back(net.layers()[i]->PlannedTraits(net.bottom_vecs()[i], net.top_vecs()[i],
                                                    net.bottom_need_backward()[i]));
    const auto join = [&](size_t top, size_t bottom, vector<int>* roots) {
      const int old_root = (*roots)[net.top_ids(static_cast<int>(i))[top]];
      std::replace(roots->begin(), roots->end(), old_root,
                   (*roots)[net.bottom_ids(static_cast<int>(i))[bottom]]);
    };
    for (const View& view : traits[i].data_views) {
      join(view.top, view.bottom, &root);
      join(view.top, view.bottom, &possible_root);
    }
    if (traits[i].declared) continue;
    for (size_t top = 0; top < net.top_vecs()[i].size(); ++top) {
      for (size_t bottom = 0; bottom < net.bottom_vecs()[i].size(); ++bottom) {
        if (net.top_vecs()[i][top]->count() == net.bottom_vecs()[i][bottom]->count())
          join(top, bottom, &possible_root);
      }
    }
  }
  struct Overwritten {
    vector<bool> bottom, top;
  };
  // Returns the overwritten data of each layer, if blobs with the same root share memory.
  const auto by_layers_behind = [&](const vector<int>& roots) {
    vector<Overwritten> result(net.layers().size());
    set<int> overwritten;
    const auto flags = [&](const vector<int>& blobs) {
      vector<bool> are;
      for (int blob : blobs) are.push_back(overwritten.count(roots[blob]) > 0);
      return are;
    };
    for (int i = static_cast<int>(net.layers().size()) - 1; i >= 0; --i) {
      const auto& bottoms = net.bottom_ids(static_cast<int>(i));
      result[i].top = flags(net.top_ids(static_cast<int>(i)));
      for (int blob : net.top_ids(static_cast<int>(i))) {
        if (std::find(bottoms.begin(), bottoms.end(), blob) != bottoms.end())
          overwritten.insert(roots[blob]);
      }
      result[i].bottom = flags(bottoms);
    }
    return result;
  };
  const vector<Overwritten> surely = by_layers_behind(root),
                            perhaps = by_layers_behind(possible_root);
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const auto& [bottom, top] = perhaps[i];
    const bool can_do_without = FirstUsableVariant(traits[i].backward, bottom, top) >= 0;
    const Overwritten& flags = can_do_without ? perhaps[i] : surely[i];
    net.layers()[i]->set_overwritten(flags.bottom, flags.top);
  }
}

template void SetOverwrittenFlags(const Net<float>&);
template void SetOverwrittenFlags(const Net<double>&);

}  // namespace caffe
