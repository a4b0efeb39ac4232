#include "caffe/util/failure.hpp"

#include <glog/logging.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>

#include "caffe/common.hpp"
#include "caffe/error.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/device/failure.hpp"

namespace caffe {

namespace {

thread_local const FailureScope* innermost = nullptr;
thread_local bool throws_in_scope = false;
thread_local bool logged_where_thrown = true;
std::atomic<bool> throws_everywhere{false};
int failure_code = 1;
// Signals that may end a library that trusts a damaged file.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
struct sigaction previous[std::size(kFaults)];

__attribute__((noreturn)) void Exit() {  // declared like glog's type, for clang
  std::fflush(nullptr);
  _exit(failure_code);
}

void WriteText(const char* text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;  // nothing can be done
}

}  // namespace

struct FailureScopes {
  static const LayerParameter* Layer() {
    const FailureScope* scope = innermost;
    while (scope != nullptr && scope->layer_ == nullptr) scope = scope->outer_;
    return scope == nullptr ? nullptr : scope->layer_;
  }
  static const std::string* File() {
    const FailureScope* scope = innermost;
    while (scope != nullptr && scope->file_ == nullptr) scope = scope->outer_;
    return scope == nullptr ? nullptr : scope->file_;
  }
  static const char* TrustedFile() {
    return innermost == nullptr ? nullptr : innermost->unverified_file_;
  }
};

FailureScope::FailureScope(const LayerParameter& layer) : layer_(&layer), outer_(innermost) {
  innermost = this;
}

FailureScope::FailureScope(const CurrentFile& file) : file_(&file.path), outer_(innermost) {
  innermost = this;
}

FailureScope::FailureScope(const char* believed_file)
    : unverified_file_(believed_file), outer_(innermost) {
  innermost = this;
}

FailureScope::~FailureScope() { innermost = outer_; }

std::string LayerAtWork() {
  const LayerParameter* layer = FailureScopes::Layer();
  return layer == nullptr ? "" : "layer " + layer->name() + " (" + layer->type() + ")";
}

namespace {

bool Names(const std::string& message, const LayerParameter& layer) {
  return message.find("ayer " + layer.name()) != std::string::npos ||
         message.find("ayer '" + layer.name() + "'") != std::string::npos;
}

/// Describes where an error happened: the current layer (unless `message` names it) with its file
/// and line, the current file, and the solver if there are several. For example "layer conv1
/// (Convolution) of net.prototxt:12"; "" if nothing is known.
std::string Place(const std::string& message) {
  std::string place;
  const auto add = [&place](const std::string& what) {
    place += (place.empty() ? "" : " of ") + what;
  };
  const LayerParameter* layer = FailureScopes::Layer();
  const std::string* file = FailureScopes::File();
  if (layer != nullptr && !Names(message, *layer)) add(LayerAtWork());
  if (layer != nullptr && !layer->origin().empty()) add(layer->origin());
  if (file != nullptr) add(*file);
  if (Caffe::solver_count() > 1) {
    add("solver " + std::to_string(Caffe::solver_rank()) + " of " +
        std::to_string(Caffe::solver_count()));
  }
  return place;
}

/// Ends the program as soon as a fatal message has been written, before glog would add a stack
/// trace, and before another thread can write one: glog holds a lock around `send`.
class FatalExit : public google::LogSink {
 public:
  using google::LogSink::send;
  void send(google::LogSeverity severity, const char*, const char*, int, const std::tm*,
            const char* message, size_t length) override {
    if (severity != google::GLOG_FATAL) return;
    const std::string place = Place(std::string(message, length));
    if (!place.empty()) WriteText(("    in " + place + "\n").c_str());
    Exit();
  }
};

// Runs in a signal handler: no allocation, no locks.
void OnFault(int signal) {
  const char* file = FailureScopes::TrustedFile();
  if (file == nullptr) {
    // Not ours: restores the previous handler. It is called when the instruction runs again or
    // abort continues.
    for (size_t i = 0; i < std::size(kFaults); ++i)
      if (kFaults[i] == signal) sigaction(signal, &previous[i], nullptr);
    if (signal == SIGABRT) raise(signal);
    return;
  }
  for (const char* text : {static_cast<const char*>(program_invocation_short_name), ": ", file,
                           " is damaged: reading it failed.\n"})
    WriteText(text);
  _exit(failure_code);
}

void Handle(int signal, struct sigaction* previous) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = &OnFault;
  sigfillset(&action.sa_mask);
  CHECK_EQ(sigaction(signal, &action, previous), 0);
}

}  // namespace

void Caffe::set_throw_on_error(bool value) { throws_everywhere = value; }

bool ThrowsOnError() { return throws_in_scope || throws_everywhere; }

ThrowOnError::ThrowOnError(bool said)
    : outer_(throws_in_scope), outer_logged_(logged_where_thrown) {
  throws_in_scope = true;
  logged_where_thrown = said;
}

ThrowOnError::~ThrowOnError() {
  throws_in_scope = outer_;
  logged_where_thrown = outer_logged_;
}

std::string FatalMessage::Text() const {
  const std::string said = str();
  if (condition_ == nullptr) return said;
  if (said.empty()) return std::string("Check failed: ") + condition_ + " " + values_;
  return values_.empty() || said.back() == '.' ? said : said + " " + values_;
}

void FatalMessage::Deliver() const {
  const std::string message = Text();
  if (throws_in_scope && !logged_where_thrown) throw Error(message);
  if (!ThrowsOnError()) google::LogMessageFatal(file_, line_).stream() << message;
  const std::string place = Place(message);
  const std::string text = message + (place.empty() ? "" : " (in " + place + ")");
  google::LogMessage(file_, line_, google::GLOG_ERROR).stream() << text;
  throw Error(text);
}

namespace {

/// Errors of the layrub libraries end the program, or throw, like a failed CHECK.
void OnFailure(const char* file, int line, const std::string& message) {
  FatalEnd() & FatalMessage(file, line).stream() << message;
}

const bool handles_failures = (layrub::SetFailureHandler(OnFailure), true);

[[noreturn]] void OnOutOfMemory() {
  WriteText(program_invocation_short_name);
  WriteText(": out of memory\n");
  Exit();
}

}  // namespace

void ExitOnFailure(int exit_code) {
  failure_code = exit_code;
  std::set_new_handler(OnOutOfMemory);
  google::InstallFailureFunction(Exit);
  static FatalExit fatal_exit;
  google::AddLogSink(&fatal_exit);
  signal(SIGTERM, SIG_DFL);  // glog's handler would print a stack trace
  signal(SIGXFSZ, SIG_IGN);  // writing beyond the limit of a file's size then fails with an error
  for (size_t i = 0; i < std::size(kFaults); ++i) Handle(kFaults[i], &previous[i]);
}

void NoLogFilesByDefault() {
  if (!FLAGS_log_dir.empty()) return;
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity)
    google::SetLogDestination(severity, "");
}

}  // namespace caffe
