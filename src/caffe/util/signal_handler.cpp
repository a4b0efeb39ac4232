#include "caffe/util/signal_handler.h"

#include <signal.h>

#include <boost/bind/bind.hpp>
#include <cstring>

namespace caffe {

namespace {

volatile sig_atomic_t got_sigint = false;
volatile sig_atomic_t got_sighup = false;
bool installed = false;
struct sigaction previous_sigint;
struct sigaction previous_sighup;

void Remember(int signal) {
  if (signal == SIGINT) got_sigint = true;
  if (signal == SIGHUP) got_sighup = true;
}

void Install(int signal, struct sigaction* previous) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = &Remember;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  CHECK_EQ(sigaction(signal, &action, previous), 0)
      << "Cannot handle signal " << signal << ": " << strerror(errno);
}

// True once for each time the flag was raised.
bool Take(volatile sig_atomic_t* flag) {
  const bool raised = *flag;
  if (raised) *flag = false;
  return raised;
}

}  // namespace

SignalHandler::SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action)
    : SIGINT_action_(SIGINT_action), SIGHUP_action_(SIGHUP_action) {
  CHECK(!installed) << "There is a SignalHandler already.";
  installed = true;
  Install(SIGINT, &previous_sigint);
  Install(SIGHUP, &previous_sighup);
}

SignalHandler::~SignalHandler() {
  sigaction(SIGINT, &previous_sigint, NULL);
  sigaction(SIGHUP, &previous_sighup, NULL);
  installed = false;
}

SolverAction::Enum SignalHandler::CheckForSignals() const {
  if (Take(&got_sighup)) return SIGHUP_action_;
  if (Take(&got_sigint)) return SIGINT_action_;
  return SolverAction::NONE;
}

ActionCallback SignalHandler::GetActionFunction() {
  return boost::bind(&SignalHandler::CheckForSignals, this);
}

}  // namespace caffe
