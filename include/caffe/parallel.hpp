#ifndef CAFFE_PARALLEL_HPP_
#define CAFFE_PARALLEL_HPP_

// User code relies on Boost.Thread being visible.
#include <boost/thread.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/internal_thread.hpp"
#include "caffe/layer.hpp"
#include "caffe/parameter_callback.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/solver.hpp"
#include "caffe/syncedmem.hpp"
#include "caffe/util/blocking_queue.hpp"
#include "layrub/base/of_process.hpp"
#include "layrub/device/communicator.hpp"

namespace caffe {

/// What a solver of several does about the others: before each update the gradients of all are
/// summed and divided by their number, as if the solvers' batches were one. With layer_wise_reduce
/// gradients are summed while the backward goes on: as soon as there are some MiB of those to which
/// no layer adds any more. Callbacks of the solver and its net from its construction on, so it must
/// outlive their training. They throw layrub::GroupFailed.
///
/// CUDA loads a kernel at its first launch, and may wait for all that runs meanwhile: for a sum
/// that waits for a solver whose thread waits for the same loader. So as long as a GPU does
/// something for the first time, or captures it, sums come after the backward, and the host waits
/// for them, as it does before a test.
///
/// The memory of gradients never moves while a plan is in force (they are state), so a plan
/// needs to know nothing of this.
template <typename Dtype>
class GradientSum : public Solver<Dtype>::Callback, public ParameterCallback<Dtype> {
 public:
  GradientSum(Solver<Dtype>* solver, layrub::Communicator* communicator);
  /// Gives the net the parameters of the solver of rank 0. Each solver of the group calls it.
  void Broadcast();
  bool Acts(int layer) const override;

 protected:
  void on_start() override;
  void on_gradients_ready() override;
  void on_test_batch(int net, int batch) override;
  void run(int layer) override;

 private:
  void LookForNews();
  void Sum(const vector<int>& params);
  void SumAll();

  Solver<Dtype>* const solver_;
  layrub::Communicator* const communicator_;
  const bool layer_wise_;
  vector<vector<int>> sums_after_;  ///< by layer: parameters that are summed after its backward
  int passes_ = 0;                  ///< backward passes of this iteration that have begun
  int64_t newest_ = -1;             ///< PlannedNet::newest when it was looked at last
  bool is_new_ = false;             ///< it has changed in this iteration, or in the last backward

  DISABLE_COPY_AND_ASSIGN(GradientSum);
};

/// Trains one net with several solvers, each with its own net, plan and memory, and its own part of
/// the data: `root`, which the caller steps, and others that follow it step by step, in threads or
/// processes of their own. Only the root tests, displays and takes snapshots, which have the
/// progress of all. Each solver has the whole batch of the prototxt, so a step learns from as many
/// batches as there are solvers; the learning rate stays as it is.
///
/// An error in a solver ends all of them: the root's step throws layrub::GroupFailed, whose message
/// names the solver. Must outlive the root's training, and the root this.
template <typename Dtype>
class ParallelSolvers {
 public:
  /// The others get a thread of this process each. `root` must have been made with
  /// Caffe::solver_count() == group.size().
  ParallelSolvers(Solver<Dtype>* root, layrub::Group group);
  /// The others are in processes that have called FollowRoot, or will. `communicator` is the
  /// root's, of rank 0, and must outlive this.
  ParallelSolvers(Solver<Dtype>* root, layrub::Communicator* communicator);
  /// Ends the others, wherever they are, unless Finish has.
  ~ParallelSolvers();

  /// Makes and places the others as `root` was made, with the same state (`restore`: the file that
  /// it was restored from) and its parameters. The first error of a placement, naming the solver.
  layrub::Status Start(const string& restore = "");
  /// Waits until the others have done what the root has done, and ends their threads. Throws
  /// layrub::GroupFailed when one of them could not.
  void Finish();

  /// What users have asked the processes of the others for, one request at a time (signals); NONE:
  /// nothing more. For the root's ActionCallback.
  SolverAction::Enum FollowersRequest();

  int size() const { return communicator_->size(); }
  /// Solver `rank` of [0, size()) in this process; others than the root are for their threads alone
  /// from Start to Finish, and null before.
  Solver<Dtype>* solver(int rank) const;

 private:
  class Leader;
  class FollowerThread;

  ParallelSolvers(Solver<Dtype>* root, layrub::Communicator* communicator, layrub::Group group);
  void TellAll(const string& word);
  string AnswerOf(int rank);
  void NoteRequest(const string& message);
  vector<SolverProgress> FollowersProgress(const string& word);

  Solver<Dtype>* const root_;
  const layrub::Group group_;  ///< empty: the others are elsewhere
  layrub::Communicator* const communicator_;
  std::unique_ptr<Leader> leader_;
  std::unique_ptr<GradientSum<Dtype>> sum_;
  vector<std::unique_ptr<FollowerThread>> followers_;
  std::deque<SolverAction::Enum> requests_;
  vector<SolverProgress> last_progress_;
  bool finished_ = false;
  const unsigned forks_ = layrub::forks;

  DISABLE_COPY_AND_ASSIGN(ParallelSolvers);
};

/// Called in the process of a follower, with what it is to train, before its solver is made:
/// chooses the device of its thread, where the communicator has its values, too, and gives what
/// belongs to Solver::mutable_placement_extra.
using FollowerSetUp = std::function<PlacementOptions(const SolverParameter& param)>;

/// Trains as a solver other than the root, whose ParallelSolvers is in the process of rank 0: what
/// the root makes (Start), this one makes, and so on until its Finish. Caffe::solver_count() and
/// solver_rank() must be those of the communicator. `requests` (may be empty) is asked what the
/// user wants of this process, several times a second, as long as the root has nothing to do for
/// it; the root does it. Throws layrub::GroupFailed where training ends otherwise.
template <typename Dtype>
void FollowRoot(layrub::Communicator* communicator, const FollowerSetUp& set_up,
                const ActionCallback& requests);

/// The learnable parameters of a net, and their gradients, one after the other.
template <typename Dtype>
class Params {
 public:
  explicit Params(shared_ptr<Solver<Dtype>> root_solver);
  virtual ~Params() {}

  size_t size() const { return size_; }
  Dtype* data() const { return data_; }
  Dtype* diff() const { return diff_; }

 protected:
  const size_t size_;  ///< numbers in each of the two
  Dtype* data_ = nullptr;
  Dtype* diff_ = nullptr;

  DISABLE_COPY_AND_ASSIGN(Params);
};

/// In memory of a GPU, with the root solver's values; gradients are zero. GPU mode only.
template <typename Dtype>
class GPUParams : public Params<Dtype> {
 public:
  /// On the calling thread's device, which must be number `device`.
  GPUParams(shared_ptr<Solver<Dtype>> root_solver, int device);
  /// After the solvers that use them.
  ~GPUParams() override;
  /// Puts the parameters of `solver`, which has a net like the root's, here: they are the user's
  /// memory from now on, that no plan moves. To be called before the solver's first step.
  void Configure(Solver<Dtype>* solver) const;

 protected:
  using Params<Dtype>::size_;
  using Params<Dtype>::data_;
  using Params<Dtype>::diff_;

 private:
  layrub::Device* const device_;
};

/// Caffe's name for training with several solvers, of one process; where NCCL is not found
/// gradients go through the host's memory. Solvers are on the device of the thread in which their
/// NCCL is made, or on the CPU.
///
/// Either one object runs everything (Run), or each thread makes a solver and an NCCL of its own
/// that meet by a name (`uid`) or by InitSingleProcess, calls Broadcast and steps its solver. The
/// gradients are then summed by themselves (GradientSum); that Caffe's programs add the NCCL to the
/// callbacks of solver and net changes nothing.
template <typename Dtype>
class NCCL : public Solver<Dtype>::Callback, public ParameterCallback<Dtype> {
 public:
  /// Alone as yet. For Run, `solver` was made on the first of the GPUs, with Caffe::solver_count()
  /// of them.
  explicit NCCL(shared_ptr<Solver<Dtype>> solver);
  /// Rank Caffe::solver_rank() of the Caffe::solver_count() with this `uid`, for which it waits.
  NCCL(shared_ptr<Solver<Dtype>> solver, const string& uid);
  ~NCCL();

  Solver<Dtype>* solver() const { return solver_.get(); }
  /// A name that no other group has.
  static string new_uid();
  /// Makes `nccls` one group; the ranks are the places in the list.
  static void InitSingleProcess(vector<NCCL<Dtype>*>* nccls);
  /// Gives the solver's net the parameters of rank 0. Each of the group calls it.
  void Broadcast();
  /// Solves, with solvers like this one on the other `gpus`. `restore`: what this one was restored
  /// from, or null.
  void Run(const vector<int>& gpus, const char* restore);

  /// Kept for the user's threads to meet at; null at first.
  boost::barrier* barrier() { return barrier_; }
  void set_barrier(boost::barrier* value) { barrier_ = value; }
  bool Acts(int /*layer*/) const override { return false; }

 protected:
  void on_start() override {}
  void on_gradients_ready() override {}
  void run(int) override {}

 private:
  void Join(std::unique_ptr<layrub::Communicator> communicator);

  const shared_ptr<Solver<Dtype>> solver_;
  layrub::Device* const device_;  ///< null: the CPU
  std::unique_ptr<layrub::Communicator> communicator_;
  std::unique_ptr<GradientSum<Dtype>> sum_;
  boost::barrier* barrier_ = nullptr;

  DISABLE_COPY_AND_ASSIGN(NCCL);
};

}  // namespace caffe

#endif  // CAFFE_PARALLEL_HPP_
