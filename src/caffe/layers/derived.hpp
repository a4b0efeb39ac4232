#ifndef CAFFE_LAYERS_DERIVED_HPP_
#define CAFFE_LAYERS_DERIVED_HPP_

// Classes that users derive from concrete layers, as for Caffe: they override Forward_cpu and the
// like, call the base's, and use the blobs that Caffe's layer has between its forward and its
// backward. Such a layer has the traits of one that declares nothing (Layer::Traits), and the
// base's bodies keep their values and their workspace in memory of the layer's own, as they may run
// on either side of a device. In a layer of the class itself all of that stays empty.

#include <typeinfo>

#include "caffe/device_context.hpp"

namespace caffe {

/// Whether `layer` is of a class derived from Class.
template <template <typename> class Class, typename Dtype>
bool IsDerived(const Class<Dtype>& layer) {
  return typeid(layer) != typeid(Class<Dtype>);
}

/// At least `bytes` of `memory`, which grows, where `context` runs; contents undefined.
template <typename T>
T* OwnScratch(const DeviceContext& context, int64_t bytes, shared_ptr<SyncedMemory>* memory) {
  const auto size = static_cast<size_t>(bytes);
  if (!*memory || (*memory)->size() < size) memory->reset(new SyncedMemory(size));
  return static_cast<T*>(context.gpu ? (*memory)->mutable_gpu_data()
                                     : (*memory)->mutable_cpu_data());
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DERIVED_HPP_
