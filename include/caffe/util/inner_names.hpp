#ifndef CAFFE_UTIL_INNER_NAMES_HPP_
#define CAFFE_UTIL_INNER_NAMES_HPP_

#include "caffe/common.hpp"

namespace caffe {

/// Returns the name in logs of layer `inner` of the net that layer `outer` consists of: "lstm1" and
/// "unit_3" give "lstm1_unit_3".
inline string InnerLayerName(const string& outer, const string& inner) {
  return outer.empty() ? inner : outer + "_" + inner;
}

/// The inverse of InnerLayerName. Returns other names unchanged.
inline string NameInside(const string& outer, const string& name) {
  const string prefix = InnerLayerName(outer, "");
  return name.compare(0, prefix.size(), prefix) == 0 ? name.substr(prefix.size()) : name;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_INNER_NAMES_HPP_
