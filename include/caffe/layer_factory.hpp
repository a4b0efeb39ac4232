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

/// Whose a registered layer type is.
enum class LayerOrigin {
  kCaffe,    ///< Caffe's, or a program's own: it is registered once
  kFork,     ///< the library's, of a type that Caffe lacks: a program's takes its place
  kInternal  ///< the library alone puts such layers into nets; in no list
};

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

  /// Aborts when `type` is registered already, unless one of the two is kFork: then the other one
  /// counts, whichever comes first.
  static void AddCreator(const string& type, Creator creator,
                         LayerOrigin origin = LayerOrigin::kCaffe) {
    if (const bool fresh = Registry().emplace(type, creator).second; !fresh) {
      const auto known = Origins().find(type);
      const bool replaces = known != Origins().end() && known->second == LayerOrigin::kFork;
      CHECK(replaces != (origin == LayerOrigin::kFork))
          << "Layer type " << type << " already registered.";
      Replaced().insert(type);
      if (!replaces) return;
      Registry()[type] = creator;
    }
    Origins()[type] = origin;
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
    LOG_IF(WARNING, Caffe::root_solver() && Replaced().erase(param.type()) > 0)
        << "Layers of type " << param.type() << " are the program's own: it has registered the "
        << "type, which the library has too.";
    return found->second(param);
  }

  /// All types that a net may name.
  static vector<string> LayerTypeList() {
    vector<string> types;
    for (const auto& entry : Registry()) {
      if (Origins().at(entry.first) != LayerOrigin::kInternal) types.push_back(entry.first);
    }
    return types;
  }

 private:
  LayerRegistry() {}

  static std::map<string, LayerOrigin>& Origins() {
    static std::map<string, LayerOrigin> origins;
    return origins;
  }

  /// Types of the library that the program has replaced, without a warning in the log so far.
  static std::set<string>& Replaced() {
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
                  LayerOrigin origin = LayerOrigin::kCaffe) {
    LayerRegistry<Dtype>::AddCreator(type, creator, origin);
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
