#ifndef CAFFE_DIVIDED_TRAINING_HPP_
#define CAFFE_DIVIDED_TRAINING_HPP_

#include <memory>
#include <string>

#include "caffe/solver.hpp"
#include "layrub/device/communicator.hpp"

namespace caffe {

template <typename Dtype>
class ParameterParts;

/// Trains one net that is divided among the members of a group (caffe/partition.hpp): each of them,
/// in a thread or process of its own, has a solver of the nets of its device, and one of these.
/// What one does, all do at the same time: iterations, tests, and their part of a snapshot, which
/// rank 0 writes. A snapshot is that of the whole net: it does not tell how many devices there
/// were, and any number of them, or one without a partition, goes on from it.
///
/// To be made and used in the DeviceGroupScope in which `solver` was made. Throws
/// layrub::GroupFailed where another member fails.
template <typename Dtype>
class DividedTraining : public Solver<Dtype>::Callback {
 public:
  /// `whole`: the solver of the whole net, whose training net need not open the data that it reads
  /// (WithoutSources): it is for parameters and history. Solver and group must outlive this.
  DividedTraining(Solver<Dtype>* solver, const SolverParameter& whole, layrub::Communicator* group);
  ~DividedTraining();

  /// Takes up a state that any Solver::Snapshot wrote. Every member calls it, before the solver is
  /// placed.
  void Restore(const string& state_file);
  /// Takes up the weights in a file, as SolverParameter::weights names one.
  void LoadWeights(const string& file);
  /// Solver::Place, for every member. Not ok for all of them where one cannot, or where one has
  /// another plan than rank 0: only members that run their operations in one order meet in every
  /// exchange.
  layrub::Status Place();
  /// Solver::Solve, for every member, once they are placed. On rank 0 the solver is asked what the
  /// user wants (Solver::SetActionFunction); `requests` (may be empty) is what the user asks other
  /// members for.
  void Solve(const ActionCallback& requests = ActionCallback());
  /// What users have asked the other members for, one request at a time. On rank 0.
  SolverAction::Enum OthersRequest();

 protected:
  void on_start() override;
  void on_test_batch(int net, int batch) override;
  void on_gradients_ready() override;
  void on_last_update_done() override;

 private:
  std::unique_ptr<Solver<Dtype>> WholeSolver() const;
  void TakePartsOf(Solver<Dtype>* whole);
  void GoOn();
  void Tell(const string& word);
  /// On other members than rank 0: does what rank 0 says, until that says `word`, or, where it says
  /// that training ends, throws Ended.
  void Await(const string& word);
  void Snapshot();

  struct Ended {};

  Solver<Dtype>* const solver_;
  const SolverParameter whole_;
  layrub::Communicator* const group_;
  const std::unique_ptr<ParameterParts<Dtype>> parts_;
  ActionCallback requests_;

  DISABLE_COPY_AND_ASSIGN(DividedTraining);
};

}  // namespace caffe

#endif  // CAFFE_DIVIDED_TRAINING_HPP_
