#ifndef INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_
#define INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_

#include "caffe/proto/caffe.pb.h"
#include "caffe/solver.hpp"

namespace caffe {

/// While one exists, signals no longer end the process but ask the solver for the given action.
/// There can be one at a time; the end of its life restores the handlers that were there before.
class SignalHandler {
 public:
  /// SIGINT and SIGHUP, as in Caffe.
  SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action);
  /// SIGTERM as well, for programs that do nothing but train: where a signal asks to stop and
  /// training has not begun, or a signal has asked to stop before, the process ends at once, with
  /// exit code 128 + signal and a line on stderr. No file is left half written under its name.
  /// SIGUSR1 is one more signal, for processes that mpirun starts: it passes that on, and nothing
  /// else without killing them soon. NONE leaves it as it is.
  SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action,
                SolverAction::Enum SIGTERM_action,
                SolverAction::Enum SIGUSR1_action = SolverAction::NONE);
  ~SignalHandler();

  /// From now on there is something to save: the first request to stop is left to the solver.
  void BeginTraining();

  /// What to give to Solver::SetActionFunction: each signal is reported once. It must not be called
  /// after the handler's life.
  ActionCallback GetActionFunction();

 private:
  SolverAction::Enum CheckForSignals() const;

  DISABLE_COPY_AND_ASSIGN(SignalHandler);
};

}  // namespace caffe

#endif  // INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_
