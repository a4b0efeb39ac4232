#ifndef CAFFE_LAYERS_INTERNAL_TYPE_HPP_
#define CAFFE_LAYERS_INTERNAL_TYPE_HPP_

#include "caffe/layer_factory.hpp"

namespace caffe {

/// Registers, as `name`, a layer type that only the library adds to nets. It is in no list of
/// types.
template <template <typename> class Type>
class InternalType {
 public:
  explicit InternalType(const string& name)
      : float_(name, Create<float>, LayerOrigin::kInternal),
        double_(name, Create<double>, LayerOrigin::kInternal) {}

 private:
  template <typename Dtype>
  static shared_ptr<Layer<Dtype>> Create(const LayerParameter& param) {
    return shared_ptr<Layer<Dtype>>(new Type<Dtype>(param));
  }

  const LayerRegisterer<float> float_;
  const LayerRegisterer<double> double_;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_INTERNAL_TYPE_HPP_
