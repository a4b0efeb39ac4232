#ifndef INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_
#define INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_

#include "caffe/proto/caffe.pb.h"
#include "caffe/solver.hpp"

namespace caffe {

/// While one exists, SIGINT and SIGHUP no longer end the process but ask the solver for the given
/// action. There can be one at a time; the end of its life restores the handlers that were there
/// before.
class SignalHandler {
 public:
  SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action);
  ~SignalHandler();

  /// What to give to Solver::SetActionFunction: each signal is reported once. It must not be called
  /// after the handler's life.
  ActionCallback GetActionFunction();

 private:
  SolverAction::Enum CheckForSignals() const;

  SolverAction::Enum SIGINT_action_;
  SolverAction::Enum SIGHUP_action_;
};

}  // namespace caffe

#endif  // INCLUDE_CAFFE_UTIL_SIGNAL_HANDLER_H_
