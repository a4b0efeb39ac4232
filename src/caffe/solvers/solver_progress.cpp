// Solver: what a resumed run needs besides weights and history, to be the run that never stopped.
#include "caffe/solver.hpp"

namespace caffe {

template <typename Dtype>
ResumeState Solver<Dtype>::Progress() {
  return ResumeState();
}

template <typename Dtype>
void Solver<Dtype>::RestoreProgress(const ResumeState&, const string&) {}

#define INSTANTIATE_PROGRESS(Dtype)               \
  template ResumeState Solver<Dtype>::Progress(); \
  template void Solver<Dtype>::RestoreProgress(const ResumeState&, const string&)
INSTANTIATE_PROGRESS(float);
INSTANTIATE_PROGRESS(double);

}  // namespace caffe
