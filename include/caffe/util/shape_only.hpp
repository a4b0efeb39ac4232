#ifndef CAFFE_UTIL_SHAPE_ONLY_HPP_
#define CAFFE_UTIL_SHAPE_ONLY_HPP_

#include "caffe/common.hpp"

namespace caffe {

/// For nets that are only planned. While an object exists, GetFiller returns fillers that leave
/// blobs untouched, on this thread. Scopes nest.
class ShapeOnlyScope {
 public:
  ShapeOnlyScope();
  ~ShapeOnlyScope();
  static bool Active();

  DISABLE_COPY_AND_ASSIGN(ShapeOnlyScope);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_SHAPE_ONLY_HPP_
