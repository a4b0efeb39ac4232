#ifndef CAFFE_LAYERS_OUTPUT_TRAITS_HPP_
#define CAFFE_LAYERS_OUTPUT_TRAITS_HPP_

#include <cstdint>

#include "caffe/memory_traits.hpp"

namespace caffe {

/// Traits of a layer with one bottom and one top of `bytes` each whose derivative is computed from
/// its output alone: backward reads the top, or saved buffer 0, a copy of it, where a later layer
/// in place has overwritten the top.
inline MemoryTraits TraitsFromOutput(int64_t bytes, bool propagate_down) {
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"y", bytes}};
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  if (!propagate_down) return traits;
  for (const Operand& y : {TopData(0), Saved(0)}) {
    OperandForm form;
    form.name = y.kind == Operand::kSaved ? "saved" : "y";
    form.reads = {y, TopDiff(0)};
    form.writes = {BottomDiff(0)};
    form.may_alias = {{BottomDiff(0), TopDiff(0)}, {BottomDiff(0), y}};
    traits.backward.push_back(form);
  }
  return traits;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_OUTPUT_TRAITS_HPP_
