#ifndef CAFFE_UTIL_PARTS_HPP_
#define CAFFE_UTIL_PARTS_HPP_

#include "caffe/layer.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// Tells, while the layer of one device of several is set up, which part of a whole parameter each
/// of its blobs is (ParamSpec::layout). Applies to the calling thread.
template <typename Dtype>
class PartsScope {
 public:
  explicit PartsScope(Layer<Dtype>* layer);
  ~PartsScope();

  static bool Active();
  /// Returns null if the blob is not a parameter of the layer, or if it is a whole one.
  static const layrub::Layout* LayoutOf(const Blob<Dtype>* blob);
  static int Rank();

 private:
  Layer<Dtype>* const layer_;
  vector<layrub::Layout> layouts_;
  PartsScope* const before_;

  DISABLE_COPY_AND_ASSIGN(PartsScope);
};

/// Copies the part of the whole array that device `rank` has. For the reverse, see ForEachOwnRow.
template <typename Dtype>
void CopyPart(const Dtype* whole, const layrub::Layout& layout, int rank, Dtype* part);

}  // namespace caffe

#endif  // CAFFE_UTIL_PARTS_HPP_
