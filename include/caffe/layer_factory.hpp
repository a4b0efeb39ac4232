#ifndef CAFFE_LAYER_FACTORY_H_
#define CAFFE_LAYER_FACTORY_H_

#include <map>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

template <typename Dtype>
class Layer;

/// Who defined a registered layer type.
enum class LayerOrigin {
  kCaffe,    ///< Caffe's, or a program's own; registered once
  kFork,     ///< the library's, and not in Caffe; a program's class of the same type replaces it
  kInternal  ///< only the library puts such layers into nets; listed nowhere
};

/// Layers that the library has and Caffe lacks. A program may define classes of the same names in
/// `caffe`. This namespace gives the library's classes other symbols; otherwise the dynamic linker
/// would use the code of whichever library was loaded first for both.
inline namespace library_layers {}

/// Layer types by name. Filled before main by the REGISTER_LAYER macros, and by libraries that are
/// loaded before any net is made; read-only afterwards. There is one registry per process: its code
/// is compiled only into the library, for float and double.
template <typename Dtype>
class LayerRegistry {
 public:
  typedef shared_ptr<Layer<Dtype>> (*Creator)(const LayerParameter&);
  typedef std::map<string, Creator> CreatorRegistry;

  static CreatorRegistry& Registry();

  /// Aborts if `type` is already registered, unless one of the two is kFork. Then the other one is
  /// used, whichever was registered first.
  static void AddCreator(const string& type, Creator creator,
                         LayerOrigin origin = LayerOrigin::kCaffe);

  /// Aborts, listing the known types, when param.type() is not registered.
  static shared_ptr<Layer<Dtype>> CreateLayer(const LayerParameter& param);

  /// All types that a net may name.
  static vector<string> LayerTypeList();

 private:
  LayerRegistry() {}
};

template <typename Dtype>
class LayerRegisterer {
 public:
  LayerRegisterer(const string& type, shared_ptr<Layer<Dtype>> (*creator)(const LayerParameter&),
                  LayerOrigin origin = LayerOrigin::kCaffe) {
    LayerRegistry<Dtype>::AddCreator(type, creator, origin);
  }
};

#define REGISTER_LAYER_CREATOR(type, creator)                              \
  static LayerRegisterer<float> g_creator_f_##type(#type, creator<float>); \
  static LayerRegisterer<double> g_creator_d_##type(#type, creator<double>)

// Creators are static: another library may register the same type.
#define REGISTER_LAYER_CLASS(type)                                                     \
  template <typename Dtype>                                                            \
  static shared_ptr<Layer<Dtype>> Creator_##type##Layer(const LayerParameter& param) { \
    return shared_ptr<Layer<Dtype>>(new type##Layer<Dtype>(param));                    \
  }                                                                                    \
  REGISTER_LAYER_CREATOR(type, Creator_##type##Layer)

}  // namespace caffe

#endif  // CAFFE_LAYER_FACTORY_H_
