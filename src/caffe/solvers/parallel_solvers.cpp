// Several solvers train one net.
#include <boost/thread/thread.hpp>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <future>
#include <limits>
#include <mutex>
#include <optional>

#include "caffe/internal_thread.hpp"
#include "caffe/parallel.hpp"
#include "caffe/util/rng.hpp"
#include "layrub/base/of_process.hpp"

namespace caffe {

using layrub::Status;

/// Lets the followers into the iterations that the root has begun, and into no others. Those that
/// wait there answer the root's questions.
template <typename Dtype>
class ParallelSolvers<Dtype>::Gate {
 public:
  enum class Turn { kStep, kAnswer, kEnd };

  /// False in a child process made by fork, which has only the root.
  bool here() const { return sync_.here(); }
  void Open(int iteration) {
    const std::lock_guard lock(sync_->mutex);
    begun_ = iteration + 1;
    sync_->changed.notify_all();
  }
  void Close() {
    const std::lock_guard lock(sync_->mutex);
    closed_ = true;
    sync_->changed.notify_all();
  }
  /// The number of a new question; the first is 1.
  int Ask() {
    const std::lock_guard lock(sync_->mutex);
    sync_->changed.notify_all();
    return ++asked_;
  }
  /// Waits until the root has begun `iteration`, or asks more than the `answered` questions, or
  /// will do neither.
  Turn Wait(int iteration, int answered) {
    std::unique_lock lock(sync_->mutex);
    sync_->changed.wait(lock, [&] { return closed_ || iteration < begun_ || answered < asked_; });
    if (iteration < begun_) return Turn::kStep;
    return answered < asked_ ? Turn::kAnswer : Turn::kEnd;
  }

 private:
  struct Sync {
    std::mutex mutex;
    std::condition_variable changed;
  };
  layrub::OfProcess<Sync> sync_;
  int begun_ = std::numeric_limits<int>::min();
  int asked_ = 0;
  bool closed_ = false;
};

template <typename Dtype>
class ParallelSolvers<Dtype>::Leader final : public Solver<Dtype>::Callback {
 public:
  Leader(Solver<Dtype>* root, Gate* gate) : root_(root), gate_(gate) { root->add_callback(this); }

 protected:
  void on_start() override { gate_->Open(root_->iter()); }
  void on_gradients_ready() override {}

 private:
  Solver<Dtype>* const root_;
  Gate* const gate_;
};

namespace {

/// A follower's part of what the root is to do: its steps.
SolverParameter FollowerParam(SolverParameter param, const string& type, int rank) {
  param.set_type(type);
  param.clear_weights();  // the root's come by Broadcast
  param.clear_display();
  param.clear_debug_info();
  param.clear_snapshot();
  param.set_snapshot_after_train(false);
  const string spill_file = param.placement().spill_file();
  std::error_code unknown;
  if (!spill_file.empty() && !std::filesystem::is_directory(spill_file, unknown))
    param.mutable_placement()->set_spill_file(spill_file + "." + std::to_string(rank));
  return param;
}

}  // namespace

/// A solver other than the root, and the thread in which it lives.
template <typename Dtype>
class ParallelSolvers<Dtype>::Follower : public InternalThread {
 public:
  Follower(Solver<Dtype>* root, layrub::Communicator* communicator, Gate* gate,
           const string& restore)
      : param_(FollowerParam(root->param(), root->type(), communicator->rank())),
        placement_(*root->mutable_placement_extra()),
        iteration_(root->iter()),
        communicator_(communicator),
        gate_(gate),
        restore_(restore) {}
  ~Follower() override {
    StopInternalThread();
    // What ends with the solver is on its device.
    layrub::Device* const here = Caffe::chosen_device();
    Caffe::UseDevice(communicator_->device());
    sum_.reset();
    solver_.reset();
    Caffe::UseDevice(here);
  }

  /// Waits until the solver is made and placed. Throws what that has thrown.
  Status Placed() { return placed_.get_future().get(); }
  /// Waits until the thread has nothing more to do.
  void AwaitEnd() { ended_.get_future().wait(); }
  /// How far the solver has come in the iterations that the root has begun; `question` is of the
  /// gate. Empty: it has failed.
  std::optional<SolverProgress> Progress(int question) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || answered_ >= question; });
    return failed_ ? std::nullopt : std::optional(progress_);
  }
  Solver<Dtype>* solver() const { return solver_.get(); }

 protected:
  void InternalThreadEntry() override {
    Caffe::set_solver_rank(communicator_->rank());
    Train();
    ended_.set_value();
  }

 private:
  void Train() {
    try {
      if (communicator_->device()) Caffe::UseDevice(communicator_->device());
      const Status status = Make();
      placed_.set_value(status);
      if (!status.ok()) return;
    } catch (...) {
      placed_.set_exception(std::current_exception());
      return;
    }
    try {
      // All are placed when the first exchange begins: none waits in it for one that never comes.
      if (gate_->Wait(iteration_ - 1, 0) == Gate::Turn::kStep) sum_->Broadcast();
      Follow();
      return;
    } catch (const std::exception& error) {
      communicator_->Abort(Name() + ": " + error.what());
    } catch (const boost::thread_interrupted&) {
      // The group has ended already.
    }
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

  void Follow() {
    for (int answered = 0;;) {
      switch (gate_->Wait(solver_->iter(), answered)) {
        case Gate::Turn::kStep:
          solver_->Step(1);
          break;
        case Gate::Turn::kAnswer:
          Answer(++answered);
          break;
        case Gate::Turn::kEnd:
          return Answer(std::numeric_limits<int>::max());  // whatever will be asked
      }
    }
  }

  void Answer(int question) {
    SolverProgress progress = solver_->OwnProgress();
    const std::lock_guard lock(mutex_);
    progress_ = std::move(progress);
    answered_ = question;
    changed_.notify_all();
  }

  string Name() const {
    const layrub::Device* device = communicator_->device();
    return "solver " + std::to_string(communicator_->rank()) + " of " +
           std::to_string(communicator_->size()) +
           (device ? " (device " + std::to_string(device->id()) + ")" : "");
  }

  Status Make() {
    solver_.reset(SolverRegistry<Dtype>::CreateSolver(param_));
    if (!restore_.empty()) solver_->Restore(restore_.c_str());
    CHECK_EQ(solver_->iter(), iteration_)
        << Name() << " is not where the root solver is: give the file that was restored from.";
    *solver_->mutable_placement_extra() = placement_;
    sum_.reset(new GradientSum<Dtype>(solver_.get(), communicator_));
    const Status status = solver_->Place();
    return status.ok() ? status : Status{status.code, Name() + ": " + status.message};
  }

  const SolverParameter param_;
  const PlacementOptions placement_;
  const int iteration_;
  layrub::Communicator* const communicator_;
  Gate* const gate_;
  const string restore_;
  std::promise<Status> placed_;
  std::promise<void> ended_;
  std::unique_ptr<Solver<Dtype>> solver_;
  std::unique_ptr<GradientSum<Dtype>> sum_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  SolverProgress progress_;
  int answered_ = 0;  ///< questions
  bool failed_ = false;
};

template <typename Dtype>
ParallelSolvers<Dtype>::ParallelSolvers(Solver<Dtype>* root, layrub::Group group)
    : root_(root), group_(std::move(group)), gate_(new Gate) {
  CHECK_EQ(Caffe::solver_count(), size())
      << "Caffe::set_solver_count must come before the root solver is made: sources deal out their "
         "data by it.";
  CHECK(Caffe::root_solver()) << "The root solver has rank 0.";
}

template <typename Dtype>
ParallelSolvers<Dtype>::~ParallelSolvers() {
  root_->set_others_progress({});
  if (finished_ || !gate_->here()) return;
  group_[0]->Abort("training has ended early");
  gate_->Close();
  followers_.clear();
}

template <typename Dtype>
void ParallelSolvers<Dtype>::Finish() {
  gate_->Close();
  for (const auto& follower : followers_) follower->AwaitEnd();
  finished_ = true;
  group_[0]->Wait();  // throws what has ended a follower
}

template <typename Dtype>
Solver<Dtype>* ParallelSolvers<Dtype>::solver(int rank) const {
  return rank == 0 ? root_ : followers_.at(rank - 1)->solver();
}

template <typename Dtype>
vector<SolverProgress> ParallelSolvers<Dtype>::FollowersProgress() {
  const int question = gate_->Ask();
  vector<SolverProgress> all;
  for (const auto& follower : followers_) {
    std::optional<SolverProgress> progress = follower->Progress(question);
    if (!progress) {
      group_[0]->Wait();  // throws what has ended the follower
      LOG(FATAL) << "Training has ended early.";
    }
    all.push_back(*std::move(progress));
  }
  return all;
}

template <typename Dtype>
Status ParallelSolvers<Dtype>::Start(const string& restore) {
  // The threads are seeded from this thread's stream, which stays where the root was restored to.
  const rng_t random = *caffe_rng();
  for (int rank = 1; rank < size(); ++rank) {
    followers_.emplace_back(new Follower(root_, group_[rank].get(), gate_.get(), restore));
    followers_.back()->StartInternalThread();
  }
  for (const auto& follower : followers_) {
    if (Status status = follower->Placed(); !status.ok()) return status;
  }
  if (!restore.empty()) *caffe_rng() = random;
  root_->set_others_progress([this] { return FollowersProgress(); });
  gate_->Open(root_->iter() - 1);
  leader_.reset(new Leader(root_, gate_.get()));
  sum_.reset(new GradientSum<Dtype>(root_, group_[0].get()));
  sum_->Broadcast();
  return Status::Ok();
}

INSTANTIATE_CLASS(ParallelSolvers);

}  // namespace caffe
