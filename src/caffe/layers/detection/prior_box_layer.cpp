#include "caffe/layers/prior_box_layer.hpp"

#include <algorithm>
#include <climits>
#include <cmath>

#include "caffe/kernels/detection/prior_box.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"

namespace caffe {
namespace {

/// Aspect ratios other than 1, each once.
vector<double> RatiosOf(const PriorBoxParameter& param) {
  vector<double> ratios = {1};
  for (const float ratio : param.aspect_ratio()) {
    const auto is_same = [&](double known) { return std::fabs(known - ratio) < 1e-6; };
    if (std::any_of(ratios.begin(), ratios.end(), is_same)) continue;
    ratios.push_back(ratio);
    if (param.flip()) ratios.push_back(1.0 / ratio);
  }
  ratios.erase(ratios.begin());
  return ratios;
}

}  // namespace

template <typename Dtype>
void PriorBoxLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& /*top*/) {
  const PriorBoxParameter& param = this->layer_param_.prior_box_param();
  const string& name = this->layer_param_.name();
  const auto are_positive = [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [](float value) { return value > 0; });
  };
  CHECK_GT(param.min_size_size(), 0) << "Layer " << name << ": prior_box_param needs a min_size.";
  CHECK(are_positive(param.min_size()) && are_positive(param.aspect_ratio()) &&
        are_positive(param.variance()))
      << "Layer " << name << ": min_size, aspect_ratio and variance must be positive.";
  CHECK(param.max_size_size() == 0 || param.max_size_size() == param.min_size_size())
      << "Layer " << name << ": there must be a max_size for each min_size, or none.";
  CHECK(param.variance_size() <= 1 || param.variance_size() == 4)
      << "Layer " << name << ": there must be one variance or four, not " << param.variance_size()
      << ".";
  CHECK(!param.has_img_size() || (!param.has_img_h() && !param.has_img_w()))
      << "Layer " << name << ": either img_size or img_h and img_w; not both.";
  CHECK(param.has_img_h() == param.has_img_w())
      << "Layer " << name << ": img_h and img_w must be given together.";
  CHECK((!param.has_img_size() || param.img_size() > 0) &&
        (!param.has_img_h() || (param.img_h() > 0 && param.img_w() > 0)))
      << "Layer " << name << ": the image's size must be positive.";
  CHECK(!param.has_step() || (!param.has_step_h() && !param.has_step_w()))
      << "Layer " << name << ": either step or step_h and step_w; not both.";
  CHECK(param.has_step_h() == param.has_step_w())
      << "Layer " << name << ": step_h and step_w must be given together.";
  CHECK((!param.has_step() || param.step() > 0) &&
        (!param.has_step_h() || (param.step_h() > 0 && param.step_w() > 0)))
      << "Layer " << name << ": steps must be positive.";
  const vector<double> ratios = RatiosOf(param);
  boxes_.clear();
  for (int i = 0; i < param.min_size_size(); ++i) {
    const double size = param.min_size(i);
    boxes_.emplace_back(size, size);
    if (param.max_size_size() > 0) {
      CHECK_GT(param.max_size(i), param.min_size(i))
          << "Layer " << name << ": max_size must be greater than its min_size.";
      const double between = std::sqrt(size * param.max_size(i));
      boxes_.emplace_back(between, between);
    }
    for (const double ratio : ratios)
      boxes_.emplace_back(size * std::sqrt(ratio), size / std::sqrt(ratio));
  }
}

template <typename Dtype>
void PriorBoxLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  for (const Blob<Dtype>* blob : bottom) {
    CHECK_EQ(blob->num_axes(), 4) << "Layer " << name << ": bottoms must have four axes, not shape "
                                  << blob->shape_string() << ".";
    CHECK(top[0] != blob) << "Layer " << name << ": PriorBox cannot run in place.";
  }
  const kernels::PriorMap map = Map(*bottom[0], *bottom[1]);
  // The number of positions in a blob is small enough that the product does not overflow.
  CHECK_LE(map.Positions(), INT_MAX / 8 / map.boxes)
      << "Layer " << name << ": too many boxes, " << map.boxes << " at each of " << map.Positions()
      << " positions.";
  top[0]->Reshape({1, 2, static_cast<int>(map.Positions() * map.boxes * 4)});
}

template <typename Dtype>
kernels::PriorMap PriorBoxLayer<Dtype>::Map(const Blob<Dtype>& map,
                                            const Blob<Dtype>& image) const {
  const PriorBoxParameter& param = this->layer_param_.prior_box_param();
  kernels::PriorMap result;
  result.height = map.shape(2);
  result.width = map.shape(3);
  result.boxes = static_cast<int64_t>(boxes_.size());
  result.offset = param.offset();
  result.clip = param.clip();
  result.image_h = param.has_img_size() ? param.img_size()
                   : param.has_img_h()  ? param.img_h()
                                        : image.shape(2);
  result.image_w = param.has_img_size() ? param.img_size()
                   : param.has_img_w()  ? param.img_w()
                                        : image.shape(3);
  result.step_h = param.has_step()     ? param.step()
                  : param.has_step_h() ? param.step_h()
                                       : result.image_h / static_cast<double>(result.height);
  result.step_w = param.has_step()     ? param.step()
                  : param.has_step_w() ? param.step_w()
                                       : result.image_w / static_cast<double>(result.width);
  return result;
}

template <typename Dtype>
MemoryTraits PriorBoxLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& /*top*/,
                                          const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.forward.writes = {TopData(0)};
  OperandVariant backward;
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (propagate_down[i]) backward.writes.push_back(BottomDiff(static_cast<int>(i)));
  }
  if (!backward.writes.empty()) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void PriorBoxLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                     const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const PriorBoxParameter& param = this->layer_param_.prior_box_param();
  const kernels::PriorMap map = Map(*bottom[0], *bottom[1]);
  Dtype* corners = MutableData(context, top[0]);
  for (size_t i = 0; i < boxes_.size(); ++i) {
    kernels::PriorBoxes(context, map, static_cast<int64_t>(i), boxes_[i].first, boxes_[i].second,
                        corners);
  }
  Dtype variances[4];
  for (int k = 0; k < 4; ++k) {
    variances[k] = param.variance_size() == 0 ? Dtype(0.1)
                                              : param.variance(param.variance_size() == 1 ? 0 : k);
  }
  kernels::PriorVariances(context, map, variances, corners + top[0]->count(2));
}

template <typename Dtype>
void PriorBoxLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (!propagate_down[i]) continue;
    kernels::Fill(context, bottom[i]->count(), Dtype(0), MutableDiff(context, bottom[i]));
  }
}

INSTANTIATE_CLASS(PriorBoxLayer);
REGISTER_FORK_LAYER_CLASS(PriorBox);
REGISTER_NO_LAYER_AXES(PriorBox, "it makes a few numbers of shapes alone");

}  // namespace caffe
