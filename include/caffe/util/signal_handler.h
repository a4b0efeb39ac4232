#ifndef INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_
#define INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_

#include "caffe/proto/caffe.pb.h"
#include "caffe/solver.hpp"

namespace caffe {

/// While an object exists, signals do not end the process but request the given action from the
/// solver. Only one may exist at a time. Its destructor restores the previous handlers.
class SignalHandler {
 public:
  /// Handles SIGINT and SIGHUP, as in Caffe.
  SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action);
  /// Also handles SIGTERM, for programs that only train. A request to stop ends the process at
  /// once, with exit code 128 + signal and a line on stderr, if training has not begun or a stop
  /// was already requested. Even then no file is left half written under its name. SIGUSR1 is for
  /// processes started by mpirun, which passes it on; other signals that it passes on are soon
  /// followed by killing the processes. NONE leaves SIGUSR1 as it is.
  SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action,
                SolverAction::Enum SIGTERM_action,
                SolverAction::Enum SIGUSR1_action = SolverAction::NONE);
  ~SignalHandler();

  /// Says that training has begun: the first request to stop is now left to the solver.
  void BeginTraining();

  /// Returns the function for Solver::SetActionFunction, which reports each signal once. It must
  /// not be called after the handler is destroyed.
  ActionCallback GetActionFunction();

 private:
  SolverAction::Enum CheckForSignals() const;

  DISABLE_COPY_AND_ASSIGN(SignalHandler);
};

}  // namespace caffe

#endif  // INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_
