#ifndef CAFFE_SOLVER_FACTORY_H_
#define CAFFE_SOLVER_FACTORY_H_

#include <map>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

template <typename Dtype>
class Solver;

/// Aborts, as param.type() is none of `known`.
[[noreturn]] void RefuseSolverType(const SolverParameter& param, const vector<string>& known);

/// Solver types by name. Filled before main by the REGISTER_SOLVER macros; read-only afterwards.
template <typename Dtype>
class SolverRegistry {
 public:
  typedef Solver<Dtype>* (*Creator)(const SolverParameter&);
  typedef std::map<string, Creator> CreatorRegistry;

  static CreatorRegistry& Registry() {
    static CreatorRegistry registry;
    return registry;
  }

  /// Aborts when `type` is registered already.
  static void AddCreator(const string& type, Creator creator) {
    CHECK(Registry().emplace(type, creator).second)
        << "Solver type " << type << " already registered.";
  }

  /// A solver of param.type(), owned by the caller. Aborts, naming the known types, when it is not
  /// registered.
  static Solver<Dtype>* CreateSolver(const SolverParameter& param) {
    const auto found = Registry().find(param.type());
    if (found == Registry().end()) RefuseSolverType(param, SolverTypeList());
    return found->second(param);
  }

  static vector<string> SolverTypeList() {
    vector<string> types;
    for (const auto& entry : Registry()) types.push_back(entry.first);
    return types;
  }

 private:
  SolverRegistry() {}
};

template <typename Dtype>
class SolverRegisterer {
 public:
  SolverRegisterer(const string& type, Solver<Dtype>* (*creator)(const SolverParameter&)) {
    SolverRegistry<Dtype>::AddCreator(type, creator);
  }
};

#define REGISTER_SOLVER_CREATOR(type, creator)                                     \
  static SolverRegisterer<float> g_solver_creator_f_##type(#type, creator<float>); \
  static SolverRegisterer<double> g_solver_creator_d_##type(#type, creator<double>)

#define REGISTER_SOLVER_CLASS(type)                                     \
  template <typename Dtype>                                             \
  Solver<Dtype>* Creator_##type##Solver(const SolverParameter& param) { \
    return new type##Solver<Dtype>(param);                              \
  }                                                                     \
  REGISTER_SOLVER_CREATOR(type, Creator_##type##Solver)

}  // namespace caffe

#endif  // CAFFE_SOLVER_FACTORY_H_
