#include "parts.hpp"

#include <algorithm>

#include "caffe/device_group.hpp"
#include "caffe/util/layout_proto.hpp"
#include "rows.hpp"

namespace caffe {
namespace {

template <typename Dtype>
PartsScope<Dtype>*& Current() {
  thread_local PartsScope<Dtype>* current = nullptr;
  return current;
}

}  // namespace

template <typename Dtype>
PartsScope<Dtype>::PartsScope(Layer<Dtype>* layer) : layer_(layer), before_(Current<Dtype>()) {
  if (DeviceGroupScope::Current() == nullptr) return;
  for (const ParamSpec& spec : layer->layer_param().param())
    layouts_.push_back(spec.has_layout() ? FromProto(spec.layout()) : layrub::Layout());
  Current<Dtype>() = this;
}

template <typename Dtype>
PartsScope<Dtype>::~PartsScope() {
  Current<Dtype>() = before_;
}

template <typename Dtype>
bool PartsScope<Dtype>::Active() {
  return Current<Dtype>() != nullptr;
}

template <typename Dtype>
const layrub::Layout* PartsScope<Dtype>::LayoutOf(const Blob<Dtype>* blob) {
  const PartsScope* const scope = Current<Dtype>();
  if (scope == nullptr) return nullptr;  // a layer fills a blob after its setup
  const auto& blobs = scope->layer_->blobs();
  for (size_t i = 0; i < std::min(blobs.size(), scope->layouts_.size()); ++i) {
    if (blobs[i].get() == blob && !scope->layouts_[i].levels.empty()) return &scope->layouts_[i];
  }
  return nullptr;
}

template <typename Dtype>
int PartsScope<Dtype>::Rank() {
  return DeviceGroupScope::Current()->rank();
}

template <typename Dtype>
void CopyPart(const Dtype* whole, const layrub::Layout& layout, int rank, Dtype* part) {
  ForEachOwnRow(layout, rank, [&](int64_t begin, int64_t own, int64_t count) {
    std::copy(whole + begin, whole + begin + count, part + own);
  });
}

template class PartsScope<float>;
template class PartsScope<double>;
template void CopyPart(const float*, const layrub::Layout&, int, float*);
template void CopyPart(const double*, const layrub::Layout&, int, double*);

}  // namespace caffe
