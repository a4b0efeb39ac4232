#ifndef CAFFE_DIVIDED_TRAINING_HPP_
#define CAFFE_DIVIDED_TRAINING_HPP_

#include <memory>
#include <string>

#include "caffe/solver.hpp"
#include "layrub/device/communicator.hpp"

namespace caffe {

template <typename Dtype>
class ParameterParts;

/// Trains one net that is divided among the members of a group (caffe/partition.hpp). Each member
/// runs in its own thread or process, with a solver of its device's nets and one object of this
/// class. All members make the same calls at the same time: iterations, tests, and their part of a
/// snapshot, which rank 0 writes. A snapshot holds the whole net and does not depend on the number
/// of devices: training can resume from it on any number of them, or without a partition.
///
/// Must be made and used in the DeviceGroupScope in which `solver` was made. Throws
/// layrub::GroupFailed if another member fails.
template <typename Dtype>
class DividedTraining : public Solver<Dtype>::Callback {
 public:
  /// `whole` describes the solver of the whole net, which is made for its parameters and history
  /// only: its training net need not open its data sources (WithoutSources). Solver and group must
  /// outlive this object.
  DividedTraining(Solver<Dtype>* solver, const SolverParameter& whole, layrub::Communicator* group);
  ~DividedTraining();
  /// The bytes of its device that a member takes beside plans, where that is a GPU.
  static int64_t DeviceBytes();

  /// Restores a state that any Solver::Snapshot wrote. Every member must call it, before Place.
  void Restore(const string& state_file);
  /// Loads the weights from a file, given as in SolverParameter::weights. Every member must call
  /// it.
  void LoadWeights(const string& file);
  /// Calls Solver::Place; every member must call it. Returns an error on all members if one fails,
  /// or if the plan of one differs from that of rank 0: the exchanges match only if all members run
  /// their operations in the same order.
  layrub::Status Place();
  /// Calls Solver::Solve; every member must call it, after Place. On rank 0 the user's requests
  /// come from the solver (Solver::SetActionFunction), on the other members from `requests`, which
  /// may be empty.
  void Solve(const ActionCallback& requests = ActionCallback());
  /// Returns the next request that a user made of another member. For rank 0.
  SolverAction::Enum NextMemberRequest();

 protected:
  void on_start() override;
  void on_test_batch(int net, int batch) override;
  void on_gradients_ready() override;
  void on_last_update_done() override;

 private:
  std::unique_ptr<Solver<Dtype>> WholeSolver() const;
  void CopyPartsFrom(Solver<Dtype>* whole);
  void GoOn();
  int64_t Least(int64_t number);
  void Tell(const string& word);
  /// For members other than rank 0: carries out what rank 0 says, until that is `word`. Throws
  /// Ended if rank 0 says that training ends.
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
