#include "caffe/solver_factory.hpp"

namespace caffe {

template <typename Dtype>
typename SolverRegistry<Dtype>::CreatorRegistry& SolverRegistry<Dtype>::Registry() {
  static CreatorRegistry registry;
  return registry;
}

template <typename Dtype>
void SolverRegistry<Dtype>::AddCreator(const string& type, Creator creator) {
  CHECK(Registry().emplace(type, creator).second)
      << "Solver type " << type << " already registered.";
}

template <typename Dtype>
Solver<Dtype>* SolverRegistry<Dtype>::CreateSolver(const SolverParameter& param) {
  const auto found = Registry().find(param.type());
  if (found == Registry().end()) RefuseSolverType(param, SolverTypeList());
  return found->second(param);
}

template <typename Dtype>
vector<string> SolverRegistry<Dtype>::SolverTypeList() {
  vector<string> types;
  for (const auto& entry : Registry()) types.push_back(entry.first);
  return types;
}

template class SolverRegistry<float>;
template class SolverRegistry<double>;

}  // namespace caffe
