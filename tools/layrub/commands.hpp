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
class RankCommunicator;
}  // namespace layrub

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
int RunExport(const std::vector<std::string>& arguments);
int RunImport(const std::vector<std::string>& arguments);
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
/// --machine and --debug. Ends the program where they make no sense.
void ApplyMachineFlags(caffe::PlacementOptions* options);
/// What --debug leaves. Ends the program where it makes no sense.
caffe::Optimizations DebugFlag();
/// What --data_shape says. Ends the program where it makes no sense.
caffe::DataShapes DataShapeFlag();
/// What --top_shape says. Ends the program where it makes no sense.
std::map<std::string, std::vector<int>> TopShapeFlag();
/// Ends the program when --data_shape names a top that no data layer of these nets has, or
/// --top_shape one of a layer that is known.
void RefuseUnknownTops(const std::vector<caffe::NetParameter>& nets);
/// The solver in the file that --solver names. `runs`: the command does more than to plan it.
caffe::SolverParameter SolverFlag(bool runs);
/// --batch and --synthetic, where given: changes the sources of every net of the solver, which is
/// read from its file first. A command that reads data, without --synthetic, needs a source with a
/// batch_size for --batch. With --synthetic, random numbers are the same in each run, unless the
/// solver has a seed of its own.
void ApplyDataFlags(bool reads_data, caffe::SolverParameter* solver);
/// Ends the program when --data_shape is given to a command that would not use it.
void RefuseLoneDataShape(const std::string& command);
/// The net of --model in `phase`, for `command`, with the flags of its state and its data.
caffe::NetParameter NetOfFlags(const std::string& command, caffe::Phase phase);
/// One of these flags, or --machine, is given.
bool PlacementFlagGiven();
/// Ends the program then, for a command that runs without a memory plan.
void RefusePlacementFlags(const std::string& command);
/// For searches, which take the same few megabytes and give them back thousands of times: they stay
/// with the process.
void KeepFreedMemory();
/// Ends the program unless --format is text or json.
void RefuseUnknownFormat();
/// How many solvers train together: as many as --gpu names devices, or --cpu_solvers. Ends the
/// program when these make no sense.
int SolversFlag();
/// From now on this process is one of a group that mpirun has started: the number of solvers is
/// that of its processes on this machine, and each of them has one device.
void SetRanks(const layrub::RankCommunicator* communicator);
/// What a command runs on where --gpu does not say so.
enum class DeviceKind : uint8_t {
  kCpu,
  kGpu,  ///< in a build for the CPU only, after a warning, the CPU; --strict_mode refuses that
  kGpuIfAny,
};
/// The devices to train on: those of --gpu; when it is not given, GPU `default_gpu` or, as `kind`
/// says, null (the CPU) for each solver. This thread works on the first one from then on. Ends the
/// program when there is no such GPU.
std::vector<layrub::Device*> ChooseDevices(DeviceKind kind, int default_gpu);
/// The first GPU that --gpu names, for a command that runs nothing; null when it is not given. Ends
/// the program when there is no such GPU.
layrub::Device* GpuFlag();
/// ChooseDevices for a command that runs on one device: the CPU unless --gpu names a GPU.
void ChooseDevice(const std::string& command);
/// The phase that --phase names, or `otherwise`.
caffe::Phase PhaseFlag(caffe::Phase otherwise);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_COMMANDS_HPP_
