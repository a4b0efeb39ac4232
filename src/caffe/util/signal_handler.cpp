#include "caffe/util/signal_handler.h"

#include <signal.h>
#include <unistd.h>

#include <boost/bind/bind.hpp>
#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "layrub/base/progress_line.hpp"

namespace caffe {

namespace {

/// A signal, the action it requests, and whether it has been raised. The signal handler reads and
/// writes it.
struct Request {
  int signal;
  const char* name;
  SolverAction::Enum action = SolverAction::NONE;
  volatile sig_atomic_t raised = false;
  struct sigaction previous = {};
};

// If several are raised, the first in this list is reported first.
Request requests[] = {
    {SIGHUP, "SIGHUP"}, {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}};
int handled = 0;                        // number of handled requests; 0: there is no SignalHandler
volatile sig_atomic_t may_end = false;  // the handler may end the process
volatile sig_atomic_t training = false;
volatile sig_atomic_t stopping = false;

// Runs in a signal handler: no allocation, no locks.
void EndAtOnce(const Request& request) {
  layrub::ProgressLine::WipeInSignalHandler();
  for (const char* text :
       {static_cast<const char*>(program_invocation_short_name), ": ended at once by ",
        request.name, stopping ? ", the second request to stop.\n" : " before training began.\n"}) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) break;  // nothing can be done
  }
  _exit(128 + request.signal);
}

void Remember(int signal) {
  for (Request& request : requests) {
    if (request.signal != signal) continue;
    if (request.action == SolverAction::STOP) {
      if (may_end && (stopping || !training)) EndAtOnce(request);
      stopping = true;
    }
    request.raised = true;
  }
}

void Install(Request* request, SolverAction::Enum wanted) {
  request->action = wanted;
  request->raised = false;
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = &Remember;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  CHECK_EQ(sigaction(request->signal, &action, &request->previous), 0)
      << "Cannot handle " << request->name << ": " << strerror(errno);
}

void Begin(std::initializer_list<SolverAction::Enum> actions, bool end_at_once) {
  CHECK_EQ(handled, 0) << "There is a SignalHandler already.";
  may_end = end_at_once;
  training = false;
  stopping = false;
  for (const SolverAction::Enum action : actions) Install(&requests[handled++], action);
}

}  // namespace

SignalHandler::SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action) {
  Begin({SIGHUP_action, SIGINT_action}, false);
}

SignalHandler::SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action,
                             SolverAction::Enum SIGTERM_action, SolverAction::Enum SIGUSR1_action) {
  Begin({SIGHUP_action, SIGINT_action, SIGTERM_action}, true);
  if (SIGUSR1_action != SolverAction::NONE) Install(&requests[handled++], SIGUSR1_action);
}

SignalHandler::~SignalHandler() {
  while (handled > 0) {
    const Request& request = requests[--handled];
    sigaction(request.signal, &request.previous, nullptr);
  }
}

void SignalHandler::BeginTraining() { training = true; }

SolverAction::Enum SignalHandler::CheckForSignals() const {
  for (Request& request : requests) {
    if (!request.raised) continue;
    request.raised = false;
    return request.action;
  }
  return SolverAction::NONE;
}

ActionCallback SignalHandler::GetActionFunction() {
  return boost::bind(&SignalHandler::CheckForSignals, this);
}

}  // namespace caffe
