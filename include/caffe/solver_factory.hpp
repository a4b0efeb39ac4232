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

/// Aborts with the message that param.type() is not one of `known`.
[[noreturn]] void RefuseSolverType(const SolverParameter& param, const vector<string>& known);

/// Solver types by name. Filled before main by the REGISTER_SOLVER macros; read-only afterwards.
/// There is one registry per process: its code is compiled only into the library, for float and
/// double.
template <typename Dtype>
class SolverRegistry {
 public:
  typedef Solver<Dtype>* (*Creator)(const SolverParameter&);
  typedef std::map<string, Creator> CreatorRegistry;

  static CreatorRegistry& Registry();

  /// Aborts if `type` is already registered.
  static void AddCreator(const string& type, Creator creator);

  /// Returns a new solver of param.type(), owned by the caller. Aborts, naming the known types, if
  /// it is not registered.
  static Solver<Dtype>* CreateSolver(const SolverParameter& param);

  static vector<string> SolverTypeList();

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

#define REGISTER_SOLVER_CLASS(type)                                            \
  template <typename Dtype>                                                    \
  static Solver<Dtype>* Creator_##type##Solver(const SolverParameter& param) { \
    return new type##Solver<Dtype>(param);                                     \
  }                                                                            \
  REGISTER_SOLVER_CREATOR(type, Creator_##type##Solver)

}  // namespace caffe

#endif  // CAFFE_SOLVER_FACTORY_H_
