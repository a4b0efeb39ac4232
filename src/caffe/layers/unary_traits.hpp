#ifndef CAFFE_LAYERS_UNARY_TRAITS_HPP_
#define CAFFE_LAYERS_UNARY_TRAITS_HPP_

// Memory traits of layers with one bottom and one top of the same size that may run in place.

#include <cstdint>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/memory_traits.hpp"
#include "caffe/operands.hpp"

namespace caffe {

/// What a backward form computes the derivative from.
struct DerivativeSource {
  const char* form;
  Operand operand;
};

/// The top and the bottom have `bytes` each. The derivative is known from any one of `sources`, in
/// order of preference; saved buffer 0 is `saved`. A gradient may lie on a source of its own size.
inline MemoryTraits UnaryTraits(int64_t bytes, const SavedBuffer& saved,
                                const std::vector<DerivativeSource>& sources, bool propagate_down) {
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {saved};
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  if (!propagate_down) return traits;
  for (const DerivativeSource& source : sources) {
    OperandForm form;
    form.name = source.form;
    form.reads = {source.operand, TopDiff(0)};
    form.writes = {BottomDiff(0)};
    form.may_alias = {{BottomDiff(0), TopDiff(0)}};
    form.from_copy = source.operand.kind == Operand::kSaved && saved.bytes == bytes;
    if (source.operand.kind != Operand::kSaved || saved.bytes == bytes)
      form.may_alias.emplace_back(BottomDiff(0), source.operand);
    traits.backward.push_back(form);
  }
  return traits;
}

/// The derivative is known from y, where `from_y`, from x, and from a saved copy of the first of
/// these: forms "y", "x", "saved".
inline MemoryTraits UnaryTraits(int64_t bytes, bool from_y, bool propagate_down) {
  std::vector<DerivativeSource> sources = {{"x", BottomData(0)}, {"saved", Saved(0)}};
  if (from_y) sources.insert(sources.begin(), {"y", TopData(0)});
  return UnaryTraits(bytes, {from_y ? "y" : "x", bytes}, sources, propagate_down);
}

/// The values that form `form` of those traits reads.
template <typename Dtype>
struct DerivativeValues {
  const Dtype* values;
  bool are_y;  ///< else they are x

  DerivativeValues(const DeviceContext& context, bool from_y, int form, const Blob<Dtype>& bottom,
                   const Blob<Dtype>& top, const Dtype* saved) {
    const int x_form = from_y ? 1 : 0;
    values = form < x_form ? Data(context, top) : form == x_form ? Data(context, bottom) : saved;
    are_y = from_y && form != x_form;
  }
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_UNARY_TRAITS_HPP_
