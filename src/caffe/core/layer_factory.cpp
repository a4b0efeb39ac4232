#include "caffe/layer_factory.hpp"

#include <set>

namespace caffe {

namespace {

template <typename Dtype>
std::map<string, LayerOrigin>& Origins() {
  static std::map<string, LayerOrigin> origins;
  return origins;
}

/// Types of the library that the program has replaced, and for which no warning was logged yet.
template <typename Dtype>
std::set<string>& Replaced() {
  static std::set<string> types;
  return types;
}

template <typename Dtype>
string LayerTypeListString() {
  string list;
  for (const string& type : LayerRegistry<Dtype>::LayerTypeList())
    list += (list.empty() ? "" : ", ") + type;
  return list;
}

}  // namespace

template <typename Dtype>
typename LayerRegistry<Dtype>::CreatorRegistry& LayerRegistry<Dtype>::Registry() {
  static CreatorRegistry registry;
  return registry;
}

template <typename Dtype>
void LayerRegistry<Dtype>::AddCreator(const string& type, Creator creator, LayerOrigin origin) {
  std::map<string, LayerOrigin>& origins = Origins<Dtype>();
  if (const bool fresh = Registry().emplace(type, creator).second; !fresh) {
    const auto known = origins.find(type);
    const bool replaces = known != origins.end() && known->second == LayerOrigin::kFork;
    CHECK(replaces != (origin == LayerOrigin::kFork))
        << "Layer type " << type << " already registered.";
    Replaced<Dtype>().insert(type);
    if (!replaces) return;
    Registry()[type] = creator;
  }
  origins[type] = origin;
}

template <typename Dtype>
shared_ptr<Layer<Dtype>> LayerRegistry<Dtype>::CreateLayer(const LayerParameter& param) {
  if (Caffe::root_solver()) {
    LOG(INFO) << "Creating layer " << param.name();
  }
  const auto found = Registry().find(param.type());
  CHECK(found != Registry().end())
      << "Layer " << param.name() << ": unknown layer type: " << param.type()
      << " (known types: " << LayerTypeListString<Dtype>() << ")";
  LOG_IF(WARNING, Caffe::root_solver() && Replaced<Dtype>().erase(param.type()) > 0)
      << "Layers of type " << param.type() << " are the program's own: it has registered the "
      << "type, which the library has too.";
  return found->second(param);
}

template <typename Dtype>
vector<string> LayerRegistry<Dtype>::LayerTypeList() {
  vector<string> types;
  for (const auto& entry : Registry()) {
    if (Origins<Dtype>().at(entry.first) != LayerOrigin::kInternal) types.push_back(entry.first);
  }
  return types;
}

template class LayerRegistry<float>;
template class LayerRegistry<double>;

}  // namespace caffe
