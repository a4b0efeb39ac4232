// Training of one net by several solvers.
#include <boost/thread/thread.hpp>
#include <exception>
#include <filesystem>
#include <future>

#include "caffe/internal_thread.hpp"
#include "caffe/parallel.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "solver_follower.hpp"

namespace caffe {

using layrub::Status;

/// Starts each iteration of the root in the followers too.
template <typename Dtype>
class ParallelSolvers<Dtype>::Leader final : public Solver<Dtype>::Callback {
 public:
  explicit Leader(ParallelSolvers* solvers) : solvers_(solvers) {
    solvers->root_->add_callback(this);
  }

 protected:
  void on_start() override { solvers_->SendToAll(kStep); }
  void on_gradients_ready() override {}

 private:
  ParallelSolvers* const solvers_;
};

/// A follower in a thread of this process.
template <typename Dtype>
class ParallelSolvers<Dtype>::FollowerThread final : public InternalThread {
 public:
  FollowerThread(layrub::Communicator* communicator, const PlacementOptions& placement)
      : rank_(communicator->rank()),
        follower_(communicator, SetUp(communicator, placement), ActionCallback()) {
    StartInternalThread();
  }
  ~FollowerThread() override { StopInternalThread(); }

  /// Waits until the thread has finished its work.
  void AwaitEnd() { ended_.get_future().wait(); }
  Solver<Dtype>* solver() const { return follower_.solver(); }

 protected:
  void InternalThreadEntry() override {
    Caffe::set_solver_rank(rank_);
    try {
      follower_.Run();
    } catch (const layrub::GroupFailed&) {
      // The root reports the error.
    } catch (const boost::thread_interrupted&) {
      // The group has ended already.
    }
    ended_.set_value();
  }

 private:
  static FollowerSetUp SetUp(layrub::Communicator* communicator, const PlacementOptions& options) {
    return [communicator, options](const SolverParameter&) {
      if (communicator->device()) Caffe::UseDevice(communicator->device());
      return options;
    };
  }

  const int rank_;
  SolverFollower<Dtype> follower_;
  std::promise<void> ended_;
};

namespace {

/// Returns the parameters of a follower: those of the root, but for its steps only.
SolverParameter FollowerParam(SolverParameter param, const string& type, int rank) {
  param.set_type(type);
  param.clear_weights();  // Broadcast sends the root's
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

template <typename Dtype>
ParallelSolvers<Dtype>::ParallelSolvers(Solver<Dtype>* root, layrub::Group group)
    : ParallelSolvers(root, nullptr, std::move(group)) {}

template <typename Dtype>
ParallelSolvers<Dtype>::ParallelSolvers(Solver<Dtype>* root, layrub::Communicator* communicator)
    : ParallelSolvers(root, communicator, layrub::Group()) {}

template <typename Dtype>
ParallelSolvers<Dtype>::ParallelSolvers(Solver<Dtype>* root, layrub::Communicator* communicator,
                                        layrub::Group group)
    : root_(root),
      group_(std::move(group)),
      communicator_(communicator ? communicator : group_[0].get()) {
  CHECK_EQ(Caffe::solver_count(), size())
      << "Caffe::set_solver_count must come before the root solver is made: sources deal out their "
         "data by it.";
  CHECK(Caffe::root_solver()) << "The root solver has rank 0.";
}

template <typename Dtype>
ParallelSolvers<Dtype>::~ParallelSolvers() {
  root_->set_others_progress({});
  if (finished_ || forks_ != layrub::forks) return;
  communicator_->Abort("training has ended early");
  followers_.clear();
}

template <typename Dtype>
void ParallelSolvers<Dtype>::SendToAll(const string& word) {
  for (int rank = 1; rank < size(); ++rank) communicator_->Send(rank, word);
}

template <typename Dtype>
string ParallelSolvers<Dtype>::AnswerOf(int rank) {
  while (true) {
    string message = communicator_->Receive(rank);
    if (message[0] != kRequest) return message.substr(1);
    NoteRequest(message);
  }
}

template <typename Dtype>
void ParallelSolvers<Dtype>::NoteRequest(const string& message) {
  requests_.push_back(static_cast<SolverAction::Enum>(std::stoi(message.substr(1))));
}

template <typename Dtype>
SolverAction::Enum ParallelSolvers<Dtype>::NextFollowerRequest() {
  for (int rank = 1; rank < size(); ++rank) {
    while (const std::optional<string> message = communicator_->Receive(rank, 0))
      NoteRequest(*message);
  }
  if (requests_.empty()) return SolverAction::NONE;
  const SolverAction::Enum request = requests_.front();
  requests_.pop_front();
  return request;
}

template <typename Dtype>
vector<SolverProgress> ParallelSolvers<Dtype>::FollowersProgress(const string& word) {
  if (finished_) return last_progress_;
  SendToAll(word);
  vector<SolverProgress> all(static_cast<size_t>(size() - 1));
  for (int rank = 1; rank < size(); ++rank)
    CHECK(all[static_cast<size_t>(rank - 1)].ParseFromString(AnswerOf(rank)));
  return all;
}

template <typename Dtype>
void ParallelSolvers<Dtype>::Finish() {
  last_progress_ = FollowersProgress(kEnd);
  for (const auto& follower : followers_) follower->AwaitEnd();
  finished_ = true;
  communicator_->Wait();
}

template <typename Dtype>
Solver<Dtype>* ParallelSolvers<Dtype>::solver(int rank) const {
  return rank == 0 ? root_ : followers_.at(static_cast<size_t>(rank - 1))->solver();
}

template <typename Dtype>
Status ParallelSolvers<Dtype>::Start(const string& restore) {
  // Followers are seeded from this thread's stream, which must remain in the state that the root
  // restored.
  const rng_t random = *caffe_rng();
  for (int rank = 1; rank < size(); ++rank) {
    const bool here = !group_.empty();
    for (const string& message :
         {FollowerParam(root_->param(), root_->type(), rank).SerializeAsString(), restore,
          std::to_string(root_->iter()), here ? string() : std::to_string(caffe_rng_rand())})
      communicator_->Send(rank, message);
    if (here) {  // a starting thread is seeded from this thread's stream
      followers_.emplace_back(new FollowerThread(group_[static_cast<size_t>(rank)].get(),
                                                 *root_->mutable_placement_extra()));
    }
  }
  for (int rank = 1; rank < size(); ++rank) {
    const string placed = AnswerOf(rank);
    const auto code = static_cast<layrub::Code>(placed[0] - '0');
    if (code != layrub::Code::kOk) return {code, placed.substr(1)};
  }
  if (!restore.empty()) *caffe_rng() = random;
  root_->set_others_progress([this] { return FollowersProgress(kTellProgress); });
  // All solvers are placed before the first exchange begins, so that none waits for one that
  // failed.
  SendToAll(kBegin);
  leader_.reset(new Leader(this));
  sum_.reset(new GradientSum<Dtype>(root_, communicator_));
  sum_->Broadcast();
  return Status::Ok();
}

INSTANTIATE_CLASS(ParallelSolvers);

}  // namespace caffe
