#ifndef CAFFE_LAYERS_DATA_OWN_ITEMS_HPP_
#define CAFFE_LAYERS_DATA_OWN_ITEMS_HPP_

#include <utility>
#include <vector>

#include "caffe/device_group.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/util/layout_proto.hpp"

namespace caffe {

/// The rule of a source all of whose tops have an item of the batch in each place of their first
/// dimension: every device reads all items, so that all draw the same numbers, and takes its own.
inline LayerRule SourceRule(const LayerShapes& shapes) {
  if (shapes.top[0].empty()) return NoAxes("its top has no items");
  LayerRule rule = Axes({ItemAxis(shapes)});
  rule.tells_layout = true;
  return rule;
}

/// Those items of the batch that this device has of a source (LayerParameter::layout): one of equal
/// parts.
class OwnItems {
 public:
  explicit OwnItems(const LayerParameter& param) {
    if (!param.has_layout()) return;
    const layrub::Layout layout = FromProto(param.layout());
    CHECK(!layout.dims.empty() && layout.dims[0] > 0) << "layout: a source has items.";
    parts_ = Parts(layout, 0);
    const layrub::Communicator* const group = DeviceGroupScope::Current();
    if (group == nullptr) return;
    const layrub::Range own = RangesOf(layout, 0, group->rank()).front();
    index_ = own.begin / (own.end - own.begin);
  }

  int64_t parts() const { return parts_; }
  /// The shape of a top, of that of the whole batch.
  vector<int> Shape(vector<int> whole) const {
    CHECK(parts_ == 1 || (!whole.empty() && whole[0] % parts_ == 0))
        << "layout: the batch is not the one that was divided.";
    if (parts_ > 1) whole[0] = static_cast<int>(whole[0] / parts_);
    return whole;
  }
  /// Of the values of a whole batch, the number of the first one that is this device's.
  int64_t First(int64_t count) const { return count / parts_ * index_; }

 private:
  int64_t parts_ = 1, index_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_OWN_ITEMS_HPP_
