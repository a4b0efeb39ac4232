#ifndef CAFFE_LAYERS_UNARY_TRAITS_HPP_
#define CAFFE_LAYERS_UNARY_TRAITS_HPP_

// Memory traits of layers with one bottom and one top of the same size that may run in place.

#include <cstdint>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/memory_traits.hpp"
#include "caffe/operands.hpp"

namespace caffe {

/// A backward variant, and the operand from which it computes the derivative.
struct DerivativeSource {
  const char* variant;
  Operand operand;
};

/// Top and bottom have `bytes` each. The derivative can be computed from any one of `sources`, in
/// order of preference. Saved buffer 0 is `saved`. A gradient may alias a source of its own size.
inline MemoryTraits UnaryTraits(int64_t bytes, const SavedBuffer& saved,
                                const std::vector<DerivativeSource>& sources, bool propagate_down) {
  MemoryTraits traits;
  traits.declared = traits.sliceable = true;
  traits.saved = {saved};
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  if (!propagate_down) return traits;
  for (const DerivativeSource& source : sources) {
    OperandVariant variant;
    variant.name = source.variant;
    variant.reads = {source.operand, TopDiff(0)};
    variant.writes = {BottomDiff(0)};
    variant.may_alias = {{BottomDiff(0), TopDiff(0)}};
    variant.from_copy = source.operand.kind == Operand::kSaved && saved.bytes == bytes;
    if (source.operand.kind != Operand::kSaved || saved.bytes == bytes)
      variant.may_alias.emplace_back(BottomDiff(0), source.operand);
    traits.backward.push_back(variant);
  }
  return traits;
}

/// The derivative can be computed from y if `from_y`, from x, and from a saved copy of y (x unless
/// `from_y`): variants "y", "x", "saved".
inline MemoryTraits UnaryTraits(int64_t bytes, bool from_y, bool propagate_down) {
  std::vector<DerivativeSource> sources = {{"x", BottomData(0)}, {"saved", Saved(0)}};
  if (from_y) sources.insert(sources.begin(), {"y", TopData(0)});
  return UnaryTraits(bytes, {from_y ? "y" : "x", bytes}, sources, propagate_down);
}

/// Backward variants that read x: from the bottom ("x"), or from its copy in `saved` ("saved"). All
/// else is as in `backward`. With `propagate_down`, the bottom's gradient may lie on the top's or
/// on x: the layer must compute its other gradients first.
inline std::vector<OperandVariant> VariantsByInput(const OperandVariant& backward,
                                                   const Operand& saved, bool propagate_down) {
  std::vector<OperandVariant> variants;
  for (const Operand& x : {BottomData(0), saved}) {
    OperandVariant variant = backward;
    variant.from_copy = x.kind == Operand::kSaved;
    variant.name = variant.from_copy ? "saved" : "x";
    variant.reads.push_back(x);
    if (propagate_down) variant.may_alias = {{BottomDiff(0), TopDiff(0)}, {BottomDiff(0), x}};
    variants.push_back(variant);
  }
  return variants;
}

/// The values that variant `variant` of the traits above reads.
template <typename Dtype>
struct DerivativeValues {
  const Dtype* values;
  bool are_y;  ///< false: they are x

  DerivativeValues(const DeviceContext& context, bool from_y, int variant,
                   const Blob<Dtype>& bottom, const Blob<Dtype>& top, const Dtype* saved) {
    const int x_variant = from_y ? 1 : 0;
    values = variant < x_variant    ? Data(context, top)
             : variant == x_variant ? Data(context, bottom)
                                    : saved;
    are_y = from_y && variant != x_variant;
  }
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_UNARY_TRAITS_HPP_
