#ifndef CAFFE_LAYERS_DERIVED_HPP_
#define CAFFE_LAYERS_DERIVED_HPP_

// Support for classes that users derive from concrete layers, as for Caffe. They override
// Forward_cpu and the like, and may call those of the base class. The base class's traits describe
// only its own forward and backward, so for a derived class they are marked as inherited
// (MemoryTraits::inherited). In Caffe some classes have protected blobs, whose values are used
// between forward and backward. For a derived class, these blobs and the workspace are kept in the
// layer's own memory, since its forward and backward may run on either side of a device, and the
// traits are those of a layer that declares nothing. In a layer of the class itself the blobs stay
// empty.

#include <typeinfo>

#include "caffe/layer.hpp"

namespace caffe {

/// Whether `layer` is of a class derived from Class.
template <template <typename> class Class, typename Dtype>
bool IsDerived(const Class<Dtype>& layer) {
  return typeid(layer) != typeid(Class<Dtype>);
}

/// The same if the registered classes `Classes` inherit forward and backward from a common base.
template <template <typename> class... Classes, typename Dtype>
bool IsDerivedFrom(const Layer<Dtype>& layer) {
  return ((typeid(layer) != typeid(Classes<Dtype>)) && ...);
}

/// Returns at least `bytes` bytes of `memory`, which grows if needed, on the device of `context`.
/// Contents are undefined.
template <typename T>
T* OwnWorkspace(const DeviceContext& context, int64_t bytes, shared_ptr<SyncedMemory>* memory) {
  const auto size = static_cast<size_t>(bytes);
  if (!*memory || (*memory)->size() < size) memory->reset(new SyncedMemory(size));
  return static_cast<T*>(context.gpu ? (*memory)->mutable_gpu_data()
                                     : (*memory)->mutable_cpu_data());
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DERIVED_HPP_
