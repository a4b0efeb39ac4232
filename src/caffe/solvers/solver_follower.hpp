#ifndef CAFFE_SOLVERS_SOLVER_FOLLOWER_HPP_
#define CAFFE_SOLVERS_SOLVER_FOLLOWER_HPP_

#include <memory>
#include <string>

#include "caffe/parallel.hpp"

namespace caffe {

// Messages between the root of a group and its other solvers (Communicator::Send).
//
//   root to follower: a SolverParameter; the file to restore from or ""; an iteration; a seed or
//   "";
//                     then the words kBegin (once), kStep and kTellProgress (any number), and kEnd
//   follower to root: kPlaced, a digit that is the Code of a Status, and its message;
//                     kProgress and a SolverProgress, in answer to kTellProgress and kEnd;
//                     at any time kRequest and a digit that is a SolverAction
inline constexpr char kBegin[] = "begin";
inline constexpr char kStep[] = "step";
inline constexpr char kTellProgress[] = "tell progress";
inline constexpr char kEnd[] = "end";
inline constexpr char kPlaced = 'p';
inline constexpr char kProgress = 's';
inline constexpr char kRequest = 'r';

/// A solver of a group other than the root, in its own thread or process.
template <typename Dtype>
class SolverFollower {
 public:
  /// See FollowRoot.
  SolverFollower(layrub::Communicator* communicator, FollowerSetUp set_up, ActionCallback requests);
  ~SolverFollower();

  /// Makes and places the solver that the root describes, and follows the root until its end, or
  /// until the group ends; an error here ends the group. Throws layrub::GroupFailed.
  void Run();
  /// Null until Run has made it.
  Solver<Dtype>* solver() const { return solver_.get(); }

 private:
  layrub::Status Make();
  void Follow();
  string NextWord();
  void SendProgress();
  string Name() const;

  layrub::Communicator* const communicator_;
  const FollowerSetUp set_up_;
  const ActionCallback requests_;
  std::unique_ptr<Solver<Dtype>> solver_;
  std::unique_ptr<GradientSum<Dtype>> sum_;
};

}  // namespace caffe

#endif  // CAFFE_SOLVERS_SOLVER_FOLLOWER_HPP_
