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
#include "layrub/base/per_process.hpp"
#include "layrub/device/communicator.hpp"

namespace caffe {

/// Sums the gradients of several solvers before each update and divides them by the number of
/// solvers, as if the solvers' batches were one. With layer_wise_reduce, gradients are summed
/// during the backward, as soon as there are some MiB of gradients to which no later layer adds.
/// The object is a callback of the solver and its net from construction on, so it must outlive
/// their training. The callbacks throw layrub::GroupFailed.
///
/// CUDA loads a kernel at its first launch and may then wait for all running work. That can
/// deadlock with a sum that waits for a solver whose thread waits for the same loader. So in
/// iterations in which a GPU runs something for the first time, or captures it, sums run after the
/// backward and the host waits for them, as it does before a test.
///
/// Gradients are state, so they never move while a plan is in force. A plan therefore needs no
/// knowledge of this class.
template <typename Dtype>
class GradientSum : public Solver<Dtype>::Callback, public ParameterCallback<Dtype> {
 public:
  GradientSum(Solver<Dtype>* solver, layrub::Communicator* communicator);
  /// Copies the parameters of the solver of rank 0 to this net. Each solver of the group must call
  /// it.
  void Broadcast();
  bool Acts(int layer) const override;

 protected:
  void on_start() override;
  void on_gradients_ready() override;
  void on_test_batch(int net, int batch) override;
  void run(int layer) override;

 private:
  void CheckForNewWork();
  void Sum(const vector<int>& params);
  void SumAll();

  Solver<Dtype>* const solver_;
  layrub::Communicator* const communicator_;
  const bool layer_wise_;
  vector<vector<int>> sums_after_;  ///< by layer: parameters to sum after its backward
  int passes_ = 0;                  ///< backward passes begun in this iteration
  int64_t newest_ = -1;             ///< the last value seen of PlannedNet::newest
  bool is_new_ = false;  ///< whether it changed in this iteration, or in the last backward

  DISABLE_COPY_AND_ASSIGN(GradientSum);
};

/// Trains one net with several solvers, each with its own net, plan, memory and part of the data.
/// The caller steps the `root` solver. The others follow it step by step, in their own threads or
/// processes. Only the root tests, displays and writes snapshots, which hold the progress of all
/// solvers. Each solver processes the whole batch size of the prototxt, so a step learns from as
/// many batches as there are solvers. The learning rate is not changed.
///
/// An error in a solver ends all of them: the root's step throws layrub::GroupFailed, whose message
/// names the solver. The object must outlive the root's training, and the root must outlive the
/// object.
template <typename Dtype>
class ParallelSolvers {
 public:
  /// Runs each of the other solvers in a thread of this process. `root` must have been made with
  /// Caffe::solver_count() == group.size().
  ParallelSolvers(Solver<Dtype>* root, layrub::Group group);
  /// The other solvers run in processes that call FollowRoot, before or after this. `communicator`
  /// is the root's, of rank 0, and must outlive this object.
  ParallelSolvers(Solver<Dtype>* root, layrub::Communicator* communicator);
  /// Ends the other solvers, in all processes, unless Finish has done so.
  ~ParallelSolvers();

  /// Makes and places the other solvers like `root`, with the same state and its parameters.
  /// `restore` is the file from which the root was restored, if any. Returns the first error of a
  /// placement, which names the solver.
  layrub::Status Start(const string& restore = "");
  /// Waits until the other solvers have completed the root's last step, and ends their threads.
  /// Throws layrub::GroupFailed if one of them failed.
  void Finish();

  /// Returns the next request (a signal) that a user made of another solver's process, or NONE. For
  /// the root's ActionCallback.
  SolverAction::Enum NextFollowerRequest();

  int size() const { return communicator_->size(); }
  /// Returns solver `rank` in [0, size()) of this process. From Start to Finish, only its own
  /// thread may use a solver other than the root; before Start it is null.
  Solver<Dtype>* solver(int rank) const;

 private:
  class Leader;
  class FollowerThread;

  ParallelSolvers(Solver<Dtype>* root, layrub::Communicator* communicator, layrub::Group group);
  void SendToAll(const string& word);
  string AnswerOf(int rank);
  void NoteRequest(const string& message);
  vector<SolverProgress> FollowersProgress(const string& word);

  Solver<Dtype>* const root_;
  const layrub::Group group_;  ///< empty: the other solvers run in other processes
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

/// Called in a follower's process before its solver is made, with the solver's parameters. It
/// chooses the device of its thread, which must be the communicator's, and returns the options for
/// Solver::mutable_placement_extra.
using FollowerSetUp = std::function<PlacementOptions(const SolverParameter& param)>;

/// Trains as a solver other than the root, whose ParallelSolvers object is in the process of rank
/// 0. Makes the solver that the root describes (Start) and follows the root until its Finish.
/// Caffe::solver_count() and solver_rank() must match the communicator. `requests` (may be empty)
/// is asked for the user's requests to this process several times a second, while the process waits
/// for the root, which carries them out. Throws layrub::GroupFailed if training ends in any other
/// way.
template <typename Dtype>
void FollowRoot(layrub::Communicator* communicator, const FollowerSetUp& set_up,
                const ActionCallback& requests);

/// The learnable parameters of a net in one array, and their gradients in another.
template <typename Dtype>
class Params {
 public:
  explicit Params(shared_ptr<Solver<Dtype>> root_solver);
  virtual ~Params() {}

  size_t size() const { return size_; }
  Dtype* data() const { return data_; }
  Dtype* diff() const { return diff_; }

 protected:
  const size_t size_;  ///< number of values in each array
  Dtype* data_ = nullptr;
  Dtype* diff_ = nullptr;

  DISABLE_COPY_AND_ASSIGN(Params);
};

/// Params in GPU memory, with the root solver's values and gradients of zero. GPU mode only.
template <typename Dtype>
class GPUParams : public Params<Dtype> {
 public:
  /// Allocates on the calling thread's device, which must be GPU `device`.
  GPUParams(shared_ptr<Solver<Dtype>> root_solver, int device);
  /// Must be destroyed after the solvers that use the arrays.
  ~GPUParams() override;
  /// Makes the parameters of `solver`, which must have a net like the root's, use these arrays.
  /// From then on they are user memory, which no plan moves. Must be called before the solver's
  /// first step.
  void Configure(Solver<Dtype>* solver) const;

 protected:
  using Params<Dtype>::size_;
  using Params<Dtype>::data_;
  using Params<Dtype>::diff_;

 private:
  layrub::Device* const device_;
};

/// Caffe's interface for training with several solvers in one process. If NCCL is not available,
/// gradients go through host memory. Each solver is on the device of the thread that makes its NCCL
/// object, or on the CPU.
///
/// Either one object runs everything (Run), or each thread makes its own solver and NCCL object.
/// The objects then form a group by a common name (`uid`) or by InitSingleProcess, and each thread
/// calls Broadcast and steps its solver. Gradients are summed automatically (GradientSum). Caffe's
/// programs also add the NCCL object to the callbacks of solver and net; that has no effect.
template <typename Dtype>
class NCCL : public Solver<Dtype>::Callback, public ParameterCallback<Dtype> {
 public:
  /// Not yet in a group. For Run, `solver` must have been made on the first of the GPUs, with
  /// Caffe::solver_count() set to their number.
  explicit NCCL(shared_ptr<Solver<Dtype>> solver);
  /// Joins the group `uid` of Caffe::solver_count() objects with rank Caffe::solver_rank(), and
  /// waits for all of them.
  NCCL(shared_ptr<Solver<Dtype>> solver, const string& uid);
  ~NCCL();

  Solver<Dtype>* solver() const { return solver_.get(); }
  /// Returns a unique group name.
  static string new_uid();
  /// Makes `nccls` one group. Ranks follow the order of the list.
  static void InitSingleProcess(vector<NCCL<Dtype>*>* nccls);
  /// Copies the parameters of rank 0 to the solver's net. Each member of the group must call it.
  void Broadcast();
  /// Solves with this solver and one like it on each of the other `gpus`. `restore` is the file
  /// from which this solver was restored, or null.
  void Run(const vector<int>& gpus, const char* restore);

  /// A barrier for the user's threads. Not used by the library; initially null.
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
