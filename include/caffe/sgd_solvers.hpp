#ifndef CAFFE_SGD_SOLVERS_HPP_
#define CAFFE_SGD_SOLVERS_HPP_

#include <limits>
#include <string>
#include <vector>

#include "caffe/solver.hpp"

namespace caffe {

/// Stochastic gradient descent with momentum: history = momentum * history + rate * gradient;
/// parameter -= history. Each parameter's update is a step of the net's memory plan.
template <typename Dtype>
class SGDSolver : public Solver<Dtype> {
 public:
  explicit SGDSolver(const SolverParameter& param) : Solver<Dtype>(param) { PreSolve(); }
  explicit SGDSolver(const string& param_file) : Solver<Dtype>(param_file) { PreSolve(); }
  const char* type() const override { return "SGD"; }

  /// One blob per learnable parameter (subclasses may add more behind them).
  const vector<shared_ptr<Blob<Dtype>>>& history() { return history_; }

  void ApplyUpdate() override;
  void CopyStateFrom(Solver<Dtype>& other) override;
  /// The rate of the present iteration, from lr_policy, and from rampup_interval or warmup_iter in
  /// the first iterations.
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
  /// Parameter i of n owns history_[i], history_[i + n], ... Blobs of another shape than their
  /// parameter, and those left over, belong to the subclass and are not part of the memory plan.
  typename Net<Dtype>::History ParameterHistory() const override;
  /// Appends a history blob of zeros for each learnable parameter. For constructors.
  void AddHistory();

  // update_ and temp_ are for subclasses. They take no memory before their first use.
  vector<shared_ptr<Blob<Dtype>>> history_, update_, temp_;

 private:
  Dtype PolicyRate();
  /// For lr_policy "plateau": moves to the next step if the loss has had no new minimum for as many
  /// iterations as the policy says. The loss must be that of the present iteration.
  void StepOnPlateau();
  void LogClipping();
  /// The solver's state without the history, with all checksums.
  SolverState MakeHead(const string& model_filename);
  /// Aborts if `head` does not fit this solver, `crc` is not the state's checksum or the state does
  /// not have `histories` history blobs.
  void CheckHead(const string& state_file, const SolverState& head, uint32_t crc,
                 int histories) const;

  /// Restores what MakeHead stored for lr_policy "plateau".
  void RestorePlateau(const SolverState& head);

  Dtype lowest_loss_ = std::numeric_limits<Dtype>::infinity();  ///< for lr_policy "plateau"
  int plateau_iter_ = 0;  ///< iteration of the lowest loss, or of a later step
  /// For clipping gradients: the sum of squares of each parameter's gradient, the norm, and the
  /// factor.
  Blob<Dtype> clipping_;

  DISABLE_COPY_AND_ASSIGN(SGDSolver);
};

/// Nesterov's accelerated gradient (Sutskever et al., 2013): momentum, applied one iteration ahead.
template <typename Dtype>
class NesterovSolver : public SGDSolver<Dtype> {
 public:
  explicit NesterovSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {}
  explicit NesterovSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {}
  const char* type() const override { return "Nesterov"; }

 protected:
  void ComputeUpdateValue(int param_id, Dtype rate) override;

  DISABLE_COPY_AND_ASSIGN(NesterovSolver);
};

/// AdaGrad (Duchi et al., 2011): divides each weight's rate by the root of the sum of its squared
/// gradients, which is the history. Aborts if `momentum` is set.
template <typename Dtype>
class AdaGradSolver : public SGDSolver<Dtype> {
 public:
  explicit AdaGradSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {
    constructor_sanity_check();
  }
  explicit AdaGradSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {
    constructor_sanity_check();
  }
  const char* type() const override { return "AdaGrad"; }

 protected:
  void ComputeUpdateValue(int param_id, Dtype rate) override;
  void constructor_sanity_check();

  DISABLE_COPY_AND_ASSIGN(AdaGradSolver);
};

/// RMSProp (Tieleman and Hinton, 2012): divides each weight's rate by the root of the running mean
/// of its squared gradients, which is the history. `rms_decay` is the decay factor of the mean.
/// Aborts if `momentum` is set or `rms_decay` is not in [0, 1).
template <typename Dtype>
class RMSPropSolver : public SGDSolver<Dtype> {
 public:
  explicit RMSPropSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {
    constructor_sanity_check();
  }
  explicit RMSPropSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {
    constructor_sanity_check();
  }
  const char* type() const override { return "RMSProp"; }

 protected:
  void ComputeUpdateValue(int param_id, Dtype rate) override;
  void constructor_sanity_check();

  DISABLE_COPY_AND_ASSIGN(RMSPropSolver);
};

/// AdaDelta (Zeiler, 2012): the step is the gradient times the rate times the root of (mean of
/// squared steps / mean of squared gradients). `momentum` is the decay factor of the running means,
/// `delta` is added to each. The history of parameter i of n: squared gradients at i, squared steps
/// at i + n.
template <typename Dtype>
class AdaDeltaSolver : public SGDSolver<Dtype> {
 public:
  explicit AdaDeltaSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {
    AdaDeltaPreSolve();
  }
  explicit AdaDeltaSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {
    AdaDeltaPreSolve();
  }
  const char* type() const override { return "AdaDelta"; }

 protected:
  void AdaDeltaPreSolve();
  void ComputeUpdateValue(int param_id, Dtype rate) override;

  DISABLE_COPY_AND_ASSIGN(AdaDeltaSolver);
};

/// Adam (Kingma and Ba, 2014): the running mean of gradients divided by the root of the running
/// mean of their squares. `momentum` and `momentum2` are the decay factors. The history of
/// parameter i of n: gradients at i, squared gradients at i + n.
template <typename Dtype>
class AdamSolver : public SGDSolver<Dtype> {
 public:
  explicit AdamSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) { AdamPreSolve(); }
  explicit AdamSolver(const string& param_file) : SGDSolver<Dtype>(param_file) { AdamPreSolve(); }
  const char* type() const override { return "Adam"; }

 protected:
  void AdamPreSolve();
  void ComputeUpdateValue(int param_id, Dtype rate) override;

  DISABLE_COPY_AND_ASSIGN(AdamSolver);
};

}  // namespace caffe

#endif  // CAFFE_SGD_SOLVERS_HPP_
