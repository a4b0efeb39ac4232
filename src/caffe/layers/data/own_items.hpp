#ifndef CAFFE_LAYERS_DATA_OWN_ITEMS_HPP_
#define CAFFE_LAYERS_DATA_OWN_ITEMS_HPP_

#include <utility>
#include <vector>

#include "caffe/device_group.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/util/layout_proto.hpp"

namespace caffe {

/// The rule of a source whose tops all have the items of the batch along their first axis. Every
/// device goes through all items, so that all draw the same random numbers, and keeps its own.
inline LayerRule SourceRule(const LayerShapes& shapes) {
  if (shapes.top[0].empty()) return NoAxes("its top has no items");
  LayerRule rule = Axes({ItemAxis(shapes)});
  rule.tells_layout = true;
  return rule;
}

/// The items of a source's batch that belong to this device (LayerParameter::layout): one of
/// several equal parts.
class OwnItems {
 public:
  explicit OwnItems(const LayerParameter& param) {
    if (!param.has_layout()) return;
    const layrub::Layout layout = FromProto(param.layout());
    CHECK(!layout.dims.empty() && layout.dims[0] > 0) << "layout: a source must have items.";
    parts_ = Parts(layout, 0);
    const layrub::Communicator* const group = DeviceGroupScope::Current();
    if (group == nullptr) return;
    const layrub::Range own = RangesOf(layout, 0, group->rank()).front();
    index_ = own.begin / (own.end - own.begin);
  }

  int64_t parts() const { return parts_; }
  /// The shape of this device's top, given that of the whole batch.
  vector<int> Shape(vector<int> whole) const {
    CHECK(parts_ == 1 || (!whole.empty() && whole[0] % parts_ == 0))
        << "layout: the batch has another size than the one that was divided.";
    if (parts_ > 1) whole[0] = static_cast<int>(whole[0] / parts_);
    return whole;
  }
  /// Whether item `item` of a batch of `items` is one of this device's.
  bool Has(int64_t item, int64_t items) const {
    return item >= First(items) && item < First(items) + items / parts_;
  }
  /// Index of this device's first value in a whole batch of `count` values.
  int64_t First(int64_t count) const { return count / parts_ * index_; }

 private:
  int64_t parts_ = 1, index_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_OWN_ITEMS_HPP_
