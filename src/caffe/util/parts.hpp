#ifndef CAFFE_UTIL_PARTS_HPP_
#define CAFFE_UTIL_PARTS_HPP_

#include "caffe/layer.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// While a layer is set up that is one of those of several devices: which part of a whole parameter
/// each of its blobs is (ParamSpec::layout). On this thread.
template <typename Dtype>
class PartsScope {
 public:
  explicit PartsScope(Layer<Dtype>* layer);
  ~PartsScope();

  static bool Active();
  /// Null: the blob is no parameter of the layer, or all of one.
  static const layrub::Layout* LayoutOf(const Blob<Dtype>* blob);
  static int Rank();

 private:
  Layer<Dtype>* const layer_;
  vector<layrub::Layout> layouts_;
  PartsScope* const before_;

  DISABLE_COPY_AND_ASSIGN(PartsScope);
};

/// Copies what device `rank` has of the whole array. The other way round: ForEachOwnRow.
template <typename Dtype>
void CopyPart(const Dtype* whole, const layrub::Layout& layout, int rank, Dtype* part);

}  // namespace caffe

#endif  // CAFFE_UTIL_PARTS_HPP_
