#ifndef TOOLS_FUZZ_TARGET_HPP_
#define TOOLS_FUZZ_TARGET_HPP_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "layrub/base/status.hpp"

namespace layrub_fuzz {

/// A way in for bytes that anybody may have written.
struct Target {
  const char* name;
  /// Reads `input` as the library and the programs read it. Returns, or throws caffe::Error where
  /// the input is refused; anything else is a mistake.
  void (*read)(const std::string& input);
  /// Small inputs that are not refused.
  std::vector<std::string> (*seeds)();
  /// Words that inputs are made of; may be null.
  std::vector<std::string> (*words)() = nullptr;
  /// Inputs are messages of this kind, as text or in binary, so that a fuzzer may change their
  /// fields; null: they are not.
  std::unique_ptr<google::protobuf::Message> (*message)() = nullptr;
  bool text = false;
};

template <typename Kind>
std::unique_ptr<google::protobuf::Message> New() {
  return std::make_unique<Kind>();
}

/// All of them, in order of name.
std::vector<Target> Targets();

/// Adds a target to Targets(): one for each file of the folder targets.
class Registration {
 public:
  explicit Registration(const Target& target);
};

/// To be called before the first input is read: fatal checks throw, logs are silent, and the
/// current folder is an empty one, which is removed when the program ends.
void SetUp();

/// Makes `bytes` the contents of the file `name` in the current folder, and returns the name.
std::string Write(const std::string& name, const std::string& bytes);
/// All bytes of a file; empty where there is none.
std::string Contents(const std::string& path);
/// Of the project's files: "examples/digits/solver.prototxt".
std::string SourceFile(const std::string& path);

/// A net with parameters and a loss, small enough to be set up in a millisecond.
extern const char kSmallNet[];

/// Calls `read` in a process of its own. For formats whose libraries believe what they read: where
/// that crashes them, a program ends by a handler of signals (caffe/util/failure.hpp), and has
/// refused the input then. It has five seconds.
void ReadApart(void (*read)());

/// Throws caffe::Error unless `status` is ok.
void Require(const layrub::Status& status);

}  // namespace layrub_fuzz

#endif  // TOOLS_FUZZ_TARGET_HPP_
