#ifndef CAFFE_SGD_SOLVERS_HPP_
#define CAFFE_SGD_SOLVERS_HPP_

#include <string>
#include <vector>

#include "caffe/solver.hpp"

namespace caffe {

/// Stochastic gradient descent with momentum: history = momentum * history + rate * gradient; the
/// parameter loses history. Each parameter's update is a step of the net's memory plan.
template <typename Dtype>
class SGDSolver : public Solver<Dtype> {
 public:
  explicit SGDSolver(const SolverParameter& param) : Solver<Dtype>(param) { PreSolve(); }
  explicit SGDSolver(const string& param_file) : Solver<Dtype>(param_file) { PreSolve(); }
  const char* type() const override { return "SGD"; }

  /// One blob per learnable parameter (subclasses may add more behind them).
  const vector<shared_ptr<Blob<Dtype>>>& history() { return history_; }

  void ApplyUpdate() override;
  /// The rate of the present iteration by lr_policy.
  Dtype GetLearningRate();

 protected:
  void PreSolve();
  virtual void Normalize(int param_id);
  virtual void Regularize(int param_id);
  virtual void ComputeUpdateValue(int param_id, Dtype rate);
  virtual void ClipGradients();
  void SnapshotSolverState(const string& model_filename) override;
  virtual void SnapshotSolverStateToBinaryProto(const string& model_filename);
  virtual void SnapshotSolverStateToHDF5(const string& model_filename);
  void RestoreSolverStateFromHDF5(const string& state_file) override;
  void RestoreSolverStateFromBinaryProto(const string& state_file) override;
  /// Parameter i owns history_[i], history_[i + n], ... of n parameters.
  typename Net<Dtype>::History ParameterHistory() const override;

  // update_ and temp_ are workspace for subclasses; they take no memory before their first use.
  vector<shared_ptr<Blob<Dtype>>> history_, update_, temp_;

 private:
  void TellOfClipping();

  /// Of the gradients: the sum of squares of each parameter's, the norm, the factor to clip by.
  Blob<Dtype> clipping_;

  DISABLE_COPY_AND_ASSIGN(SGDSolver);
};

}  // namespace caffe

#endif  // CAFFE_SGD_SOLVERS_HPP_
