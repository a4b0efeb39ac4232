#ifndef CAFFE_LAYER_FACTORY_H_
#define CAFFE_LAYER_FACTORY_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

template <typename Dtype>
class Layer;

/// Layer types by name. Filled before main by the REGISTER_LAYER macros; read-only afterwards.
template <typename Dtype>
class LayerRegistry {
 public:
  typedef shared_ptr<Layer<Dtype>> (*Creator)(const LayerParameter&);
  typedef std::map<string, Creator> CreatorRegistry;

  static CreatorRegistry& Registry() {
    static CreatorRegistry registry;
    return registry;
  }

  /// Aborts when `type` is registered already. A type that the library alone puts into nets is
  /// `internal`, and in no list.
  static void AddCreator(const string& type, Creator creator, bool internal = false) {
    CHECK(Registry().emplace(type, creator).second)
        << "Layer type " << type << " already registered.";
    if (internal) Internal().insert(type);
  }

  /// Aborts, listing the known types, when param.type() is not registered.
  static shared_ptr<Layer<Dtype>> CreateLayer(const LayerParameter& param) {
    if (Caffe::root_solver()) {
      LOG(INFO) << "Creating layer " << param.name();
    }
    const auto found = Registry().find(param.type());
    CHECK(found != Registry().end())
        << "Layer " << param.name() << ": unknown layer type: " << param.type()
        << " (known types: " << LayerTypeListString() << ")";
    return found->second(param);
  }

  /// All types that a net may name.
  static vector<string> LayerTypeList() {
    vector<string> types;
    for (const auto& entry : Registry()) {
      if (Internal().count(entry.first) == 0) types.push_back(entry.first);
    }
    return types;
  }

 private:
  LayerRegistry() {}

  static std::set<string>& Internal() {
    static std::set<string> types;
    return types;
  }

  static string LayerTypeListString() {
    string list;
    for (const string& type : LayerTypeList()) list += (list.empty() ? "" : ", ") + type;
    return list;
  }
};

template <typename Dtype>
class LayerRegisterer {
 public:
  LayerRegisterer(const string& type, shared_ptr<Layer<Dtype>> (*creator)(const LayerParameter&),
                  bool internal = false) {
    LayerRegistry<Dtype>::AddCreator(type, creator, internal);
  }
};

#define REGISTER_LAYER_CREATOR(type, creator)                              \
  static LayerRegisterer<float> g_creator_f_##type(#type, creator<float>); \
  static LayerRegisterer<double> g_creator_d_##type(#type, creator<double>)

#define REGISTER_LAYER_CLASS(type)                                              \
  template <typename Dtype>                                                     \
  shared_ptr<Layer<Dtype>> Creator_##type##Layer(const LayerParameter& param) { \
    return shared_ptr<Layer<Dtype>>(new type##Layer<Dtype>(param));             \
  }                                                                             \
  REGISTER_LAYER_CREATOR(type, Creator_##type##Layer)

}  // namespace caffe

#endif  // CAFFE_LAYER_FACTORY_H_
