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

/// A command of the program. `run` gets the words that follow the command's name on the command
/// line, without flags, and returns the exit code.
struct Command {
  std::string name;
  std::string arguments;  ///< for the usage text: "A.caffemodel B.caffemodel"
  int argument_count;     ///< the number needed; a minimum if `arguments` ends in "..."
  std::string summary;    ///< one line
  std::string help;       ///< printed after the flags (FlagTable): details and an example
  bool log_files;         ///< writes log files, as Caffe does, even without --log_dir
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
/// Makes Ctrl-C erase the progress line before it ends the program. Does nothing if SIGINT already
/// has a handler or is ignored.
void EraseProgressOnInterrupt();
/// Prints the message of a status that is not ok and returns the exit code for it.
int ExitCode(const layrub::Status& status);
/// Ends the program if `value`, that of --`flag`, is empty: "'train' needs --solver=FILE; ...".
void Require(const std::string& command, const std::string& flag, const std::string& value);

/// Ends the program if WriteFile could not write to `path`. For use before the work whose result
/// will be written. An existing file is not changed.
void CheckWritable(const std::string& path);
/// Makes the folder `path`, the value of --`flag`, unless it exists. Ends the program on failure.
void MakeFolder(const std::string& flag, const std::string& path);
/// Replaces the file atomically by one that holds `text` (AtomicFile), or ends the program.
void WriteFile(const std::string& path, const std::string& text);

/// Whether the flag is on the command line, even with an empty value ("--model=").
bool Given(const char* flag);
/// The items of a comma-separated list, trimmed; empty for "".
std::vector<std::string> SplitList(const std::string& list);
/// Sets the level of `state` to --level and adds the stages of --stage.
void ApplyStateFlags(caffe::NetState* state);
/// Overrides `placement` by those of --placement, --device_memory, --host_memory, --spill_file,
/// --spill_memory and --deterministic that are given. If neither sets the device memory, it is the
/// memory of --machine.
void ApplyPlacementFlags(caffe::PlacementParameter* placement);
/// Sets machine and optimizations from --machine and --debug. Ends the program if a value is
/// invalid.
void ApplyMachineFlags(caffe::PlacementOptions* options);
/// The optimizations that --debug does not turn off. Ends the program if it names an unknown one.
caffe::Optimizations DebugFlag();
/// The value of --data_shape. Ends the program if it is malformed.
caffe::DataShapes DataShapeFlag();
/// The value of --top_shape, by top. Ends the program if it is malformed.
std::map<std::string, std::vector<int>> TopShapeFlag();
/// Ends the program if --data_shape names a top that no data layer of these nets has, or
/// --top_shape a top that no layer has which this program may lack (caffe::MayBeMissing).
void RefuseUnknownTops(const std::vector<caffe::NetParameter>& nets);
/// Reads the solver file that --solver names. `runs`: the command runs its nets and does not only
/// plan them.
caffe::SolverParameter SolverFlag(bool runs);
/// Reads the nets of the solver from their files and changes their data layers as --batch and
/// --synthetic say. `reads_data`: the command runs the nets on their data. Ends the program if
/// --batch is given and no data layer has a batch size. With --synthetic, the random numbers are
/// the same in each run unless the solver sets a seed.
void ApplyDataFlags(bool reads_data, caffe::SolverParameter* solver);
/// Ends the program if --data_shape is given without --synthetic to a command that reads data.
void RefuseDataShapeWithoutSynthetic(const std::string& command);
/// The net of --model in `phase`, with the flags for state and data applied. Messages name
/// `command`.
caffe::NetParameter NetOfFlags(const std::string& command, caffe::Phase phase);
/// Whether one of the flags of ApplyPlacementFlags or --machine is given.
bool PlacementFlagGiven();
/// Ends the program if PlacementFlagGiven(), for a command that runs without a memory plan.
void RefusePlacementFlags(const std::string& command);
/// Makes malloc keep freed memory in the process. Searches allocate and free the same few megabytes
/// thousands of times.
void KeepFreedMemory();
/// Ends the program unless --format is text or json.
void RefuseUnknownFormat();
/// How many solvers train together: the number of devices that --gpu names, or --cpu_solvers. Ends
/// the program if these flags are invalid or contradict each other.
int SolversFlag();
/// Makes this process one of a group that mpirun has started. From then on SolversFlag is the
/// number of the group's processes on this machine, and each process has one device.
void SetRanks(const layrub::RankCommunicator* communicator);
/// What a command runs on if --gpu is not given.
enum class DeviceKind : uint8_t {
  kCpu,
  kGpu,  ///< a CPU-only build warns and uses the CPU, unless --strict_mode
  kGpuIfAny,
};
/// The devices to train on: those of --gpu. If it is not given, `kind` decides between GPU
/// `default_gpu` and the CPU (null, once for each solver). Makes the first one the calling thread's
/// device. Ends the program if there is no such GPU.
std::vector<layrub::Device*> ChooseDevices(DeviceKind kind, int default_gpu);
/// The first GPU that --gpu names, for a command that runs nothing; null if it is not given. Ends
/// the program if there is no such GPU.
layrub::Device* GpuFlag();
/// ChooseDevices for a command that runs on one device: the CPU unless --gpu names a GPU.
void ChooseDevice(const std::string& command);
/// The phase that --phase names, or `otherwise` if it is not given.
caffe::Phase PhaseFlag(caffe::Phase otherwise);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_COMMANDS_HPP_
