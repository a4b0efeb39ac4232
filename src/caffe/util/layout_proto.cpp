#include "caffe/util/layout_proto.hpp"

#include <climits>

#include "caffe/common.hpp"

namespace caffe {
namespace {

constexpr int kMostLevels = 6;

/// Checks a layout from a prototxt, which may contain anything.
void CheckLayout(const layrub::Layout& layout, const DeviceLayout& proto) {
  CHECK_LE(proto.level_size(), kMostLevels) << "layout: there are more than 64 devices.";
  const auto dims = static_cast<int>(layout.dims.size());
  for (const int64_t dim : layout.dims)
    CHECK(dim >= 0 && dim <= INT_MAX) << "layout: dim " << dim << " is no dimension of an array.";
  for (const DeviceLayout::Joined& joined : proto.joined()) {
    CHECK(joined.dim() >= 0 && joined.dim() < dims) << "layout: joined.dim is no dimension.";
    int64_t sum = 0;
    for (const int64_t size : joined.size()) {
      CHECK(size >= 0 && size <= INT_MAX) << "layout: joined.size " << size;
      sum += size;
    }
    CHECK_EQ(sum, layout.dims[joined.dim()]) << "layout: the sum of joined.size is not the dim.";
  }
  for (const DeviceLayout::Level& level : proto.level()) {
    if (!level.has_cut()) continue;
    CHECK(level.cut() >= 0 && level.cut() < dims) << "layout: cut is no dimension.";
    CHECK(CanCut(layout, level.cut(), Parts(layout, level.cut())))
        << "layout: dimension " << level.cut() << " cannot be cut into "
        << Parts(layout, level.cut()) << " equal parts.";
  }
}

}  // namespace

layrub::Layout FromProto(const DeviceLayout& proto) {
  layrub::Layout layout;
  layout.dims.assign(proto.dim().begin(), proto.dim().end());
  for (const DeviceLayout::Level& level : proto.level()) {
    layout.levels.push_back(level.has_cut()         ? layrub::Cut(level.cut())
                            : level.part()          ? layrub::Part()
                            : level.part_gradient() ? layrub::PartGradient()
                                                    : layrub::Whole());
  }
  for (const DeviceLayout::Joined& joined : proto.joined()) {
    layout.joined.resize(layout.dims.size());
    if (joined.dim() < 0 || joined.dim() >= proto.dim_size()) continue;  // CheckLayout says so
    layout.joined[joined.dim()].assign(joined.size().begin(), joined.size().end());
  }
  CheckLayout(layout, proto);
  return layout;
}

DeviceLayout ToProto(const layrub::Layout& layout) {
  DeviceLayout proto;
  for (const int64_t dim : layout.dims) proto.add_dim(dim);
  for (const layrub::Level& level : layout.levels) {
    DeviceLayout::Level* const out = proto.add_level();
    if (level.share == layrub::Share::kCut) out->set_cut(level.dim);
    if (level.share == layrub::Share::kPart) out->set_part(true);
    if (level.share == layrub::Share::kPartGradient) out->set_part_gradient(true);
  }
  for (size_t d = 0; d < layout.joined.size(); ++d) {
    if (layout.joined[d].empty()) continue;
    DeviceLayout::Joined* const joined = proto.add_joined();
    joined->set_dim(static_cast<int>(d));
    for (const int64_t size : layout.joined[d]) joined->add_size(size);
  }
  return proto;
}

layrub::Layout StateLayout(const LayerParameter& layer) {
  if (!layer.has_layout()) return {};
  layrub::Layout state = FromProto(layer.layout());
  if (state.dims.size() != 3) return {};  // of another layer
  state.dims[0] = 1;
  for (layrub::Level& level : state.levels) {
    // All devices have all units of the first top of an LSTM, but states are divided.
    if (level == layrub::PartGradient()) level = layrub::Cut(2);
  }
  return state;
}

}  // namespace caffe
