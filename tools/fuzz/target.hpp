#ifndef TOOLS_FUZZ_TARGET_HPP_
#define TOOLS_FUZZ_TARGET_HPP_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "layrub/base/status.hpp"

namespace layrub_fuzz {

/// A reader of bytes from untrusted sources.
struct Target {
  const char* name;
  /// Reads `input` as the library and the programs do. Must return, or throw caffe::Error to refuse
  /// the input; anything else is a bug.
  void (*read)(const std::string& input);
  /// Small valid inputs.
  std::vector<std::string> (*seeds)();
  /// Words that inputs consist of; may be null.
  std::vector<std::string> (*words)() = nullptr;
  /// Makes an empty message of the kind that inputs are, text (`text`) or binary, so that a fuzzer
  /// can change fields; null if inputs are not messages.
  std::unique_ptr<google::protobuf::Message> (*message)() = nullptr;
  bool text = false;
};

template <typename Kind>
std::unique_ptr<google::protobuf::Message> New() {
  return std::make_unique<Kind>();
}

/// All targets, ordered by name.
std::vector<Target> Targets();

/// Adds a target to Targets(). Each file of the folder targets has one.
class Registration {
 public:
  explicit Registration(const Target& target);
};

/// Call this before the first input is read. Makes fatal checks throw, silences logs, and changes
/// to an empty folder, which is removed when the program ends.
void SetUp();

/// Writes `bytes` to the file `name` in the current folder, and returns the name.
std::string Write(const std::string& name, const std::string& bytes);
/// The contents of a file; empty if there is no such file.
std::string Contents(const std::string& path);
/// The contents of a file of the source tree, such as "examples/digits/solver.prototxt".
std::string SourceFile(const std::string& path);

/// A net with parameters and a loss, small enough to be set up in a millisecond.
extern const char kSmallNet[];

/// Calls `read` in a child process, for at most five seconds. For formats whose libraries trust
/// their input and crash if it is damaged. The programs then end in a signal handler
/// (caffe/util/failure.hpp), which counts as refusing the input.
void ReadInChild(void (*read)());

/// Throws caffe::Error unless `status` is ok.
void Require(const layrub::Status& status);

}  // namespace layrub_fuzz

#endif  // TOOLS_FUZZ_TARGET_HPP_
