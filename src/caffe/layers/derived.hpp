#ifndef CAFFE_LAYERS_DERIVED_HPP_
#define CAFFE_LAYERS_DERIVED_HPP_

// Classes that users derive from concrete layers, as for Caffe: they override Forward_cpu and the
// like, and may call the base's. The base's traits are about the base's bodies, so they are marked
// as inherited (MemoryTraits::inherited). Some classes have protected blobs in Caffe, with values
// between the forward and the backward: for a derived class their bodies keep these, and their
// workspace, in memory of the layer's own, as they may run on either side of a device, and their
// traits are those of a layer that declares nothing. In a layer of the class itself all of that
// stays empty.

#include <typeinfo>

#include "caffe/layer.hpp"

namespace caffe {

/// Whether `layer` is of a class derived from Class.
template <template <typename> class Class, typename Dtype>
bool IsDerived(const Class<Dtype>& layer) {
  return typeid(layer) != typeid(Class<Dtype>);
}

/// The same, where the registered classes `Classes` have their bodies from a common base.
template <template <typename> class... Classes, typename Dtype>
bool IsDerivedFrom(const Layer<Dtype>& layer) {
  return ((typeid(layer) != typeid(Classes<Dtype>)) && ...);
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
