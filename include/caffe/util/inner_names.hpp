#ifndef CAFFE_UTIL_INNER_NAMES_HPP_
#define CAFFE_UTIL_INNER_NAMES_HPP_

#include "caffe/common.hpp"

namespace caffe {

/// The name, in logs, of layer `inner` of the net that layer `outer` is made of: "lstm1", "unit_3"
/// -> "lstm1_unit_3".
inline string InnerLayerName(const string& outer, const string& inner) {
  return outer.empty() ? inner : outer + "_" + inner;
}

/// The way back; a name that InnerLayerName has not made is left as it is.
inline string NameInside(const string& outer, const string& name) {
  const string prefix = InnerLayerName(outer, "");
  return name.compare(0, prefix.size(), prefix) == 0 ? name.substr(prefix.size()) : name;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_INNER_NAMES_HPP_
