#ifndef TOOLS_LAYRUB_COMMANDS_HPP_
#define TOOLS_LAYRUB_COMMANDS_HPP_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "caffe/placement.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/source_shapes.hpp"
#include "layrub/base/status.hpp"

namespace layrub {
class Device;
}

namespace layrub_tool {

// Exit codes of the program.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kDoesNotFit = 2;

/// Seed of runs on synthetic data.
inline constexpr int kSyntheticSeed = 1;

/// One command: what follows its name on the command line, without flags, goes to `run`; it returns
/// the exit code.
struct Command {
  std::string name;
  std::string arguments;  ///< for the usage text: "A.caffemodel B.caffemodel"
  int argument_count;     ///< or more, where "..." ends `arguments`
  std::string summary;    ///< one line
  std::string help;       ///< behind the flags (FlagTable): more about it, and an example
  bool log_files;  ///< leaves log files, as Caffe does, also where no --log_dir asks for them
  int (*run)(const std::vector<std::string>& arguments);
};
const std::vector<Command>& Commands();

int RunTrain(const std::vector<std::string>& arguments);
int RunTest(const std::vector<std::string>& arguments);
int RunTime(const std::vector<std::string>& arguments);
int RunDeviceQuery(const std::vector<std::string>& arguments);
int RunPlan(const std::vector<std::string>& arguments);
int RunCompare(const std::vector<std::string>& arguments);
int RunDraw(const std::vector<std::string>& arguments);
int RunDiff(const std::vector<std::string>& arguments);

/// Ends the program with exit code 1 after one line on stderr: "layrub: <message>".
[[noreturn]] void Fail(const std::string& message);
/// Ctrl-C ends the program, as it does where nobody asks for this, and leaves the terminal clean.
void WipeOnInterrupt();
/// Prints the message of a status that is not ok and returns the exit code for it.
int ExitCode(const layrub::Status& status);
/// Ends the program unless the flag has a value: "layrub train needs --solver=FILE: ...".
void Require(const std::string& command, const std::string& flag, const std::string& value);

/// Ends the program where WriteFile could not write; for before the work of which the outcome is to
/// be written. What is there is left alone.
void CheckWritable(const std::string& path);
/// Makes the folder that --`flag` names where there is none, or ends the program.
void MakeFolder(const std::string& flag, const std::string& path);
/// Replaces the file at once by one that holds `text` (AtomicFile), or ends the program.
void WriteFile(const std::string& path, const std::string& text);

/// The flag is on the command line, be it with nothing behind the '=', which a script may not have
/// meant.
bool Given(const char* flag);
/// The pieces of a comma list; none for "".
std::vector<std::string> SplitList(const std::string& list);
/// Level and stages as the flags say, added to `state`.
void ApplyStateFlags(caffe::NetState* state);
/// --placement, --device_memory (or else the memory of --machine), --host_memory, --spill_file and
/// --deterministic, where given, over what is in `placement`.
void ApplyPlacementFlags(caffe::PlacementParameter* placement);
/// The solver in the file that --solver names. `runs`: the command does more than to plan it.
caffe::SolverParameter SolverFlag(bool runs);
