// The program layrub, also installed as caffe: trains, tests, times, plans and compares nets.
#include <dlfcn.h>
#include <glog/logging.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/error.hpp"
#include "caffe/placement.hpp"
#include "caffe/util/blas_memory.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/library_settings.hpp"
#include "caffe/util/loaded_libraries.hpp"
#include "caffe/util/threads.hpp"
#include "layrub/base/standard_streams.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/ranks.hpp"
#include "layrub/flag_files.hpp"
#include "layrub/flag_names.hpp"
#include "layrub/flag_table.hpp"
#include "layrub/flags.hpp"

DECLARE_bool(help);
DECLARE_bool(helpshort);

namespace layrub_tool {

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"train", "", 0, "train a net, or go on training or fine-tune one",
       "Example: layrub train --solver=lenet_solver.prototxt --device_memory=8GiB\n"
       "         mpirun -np 4 layrub train --solver=lenet_solver.prototxt   (on several "
       "machines)\n",
       true, RunTrain},
      {"test", "", 0, "score a trained net",
       "Example: layrub test --model=lenet.prototxt --weights=lenet_iter_1000.caffemodel "
       "--iterations=100\n",
       true, RunTest},
      {"time", "", 0, "measure the time of each layer",
       "Example: layrub time --model=lenet.prototxt --iterations=10\n", false, RunTime},
      {"plan", "", 0, "show how much memory a net needs, before training and without its data",
       "Example: layrub plan --model=lenet.prototxt --device_memory=64MiB\n", false, RunPlan},
      {"compare", "", 0, "compare what the memory strategies take, in bytes and in time",
       "Example: layrub compare --model=lenet.prototxt --report=lenet\n"
       "         layrub compare --model=lenet.prototxt --devices=4 --report=lenet\n",
       false, RunCompare},
      {"draw", "GRAPH.txt PLAN.txt ...", 2, "draw dumped plans, side by side on one scale",
       "All plans must be plans of GRAPH.txt. The operations of an iteration run from left\n"
       "to right, the addresses of the device go upwards; host memory is below. A browser\n"
       "names the tensor under the mouse.\n"
       "Example: layrub plan --model=lenet.prototxt --placement=keep --dump=keep\n"
       "         layrub draw keep/graph.txt keep/plan.txt --output=keep.svg\n",
       false, RunDraw},
      {"export", "", 0, "write a net as ONNX, and prove that it gives the same values",
       "Losses and accuracies are left out. A layer that cannot be expressed is refused by name.\n"
       "Needs Python 3 with the packages onnx and, to compare, onnxruntime.\n"
       "Example: layrub export --model=deploy.prototxt --weights=net.caffemodel "
       "--output=net.onnx\n",
       false, RunExport},
      {"import", "", 0, "read an ONNX file as a net, and prove that it gives the same values",
       "If nodes have no equivalent layer, they are all listed and nothing is written.\n"
       "Needs Python 3 with the packages onnx and, to compare, onnxruntime.\n"
       "Example: layrub import --onnx=resnet18.onnx --output=resnet18\n"
       "         layrub plan --model=resnet18.prototxt\n",
       false, RunImport},
      {"diff", "A.caffemodel B.caffemodel", 2, "compare two sets of weights bit by bit",
       "Prints each difference and 'weights bit-equal: yes' or 'no'; exit code 1 when they "
       "differ.\n"
       "HDF5 files (.h5) may be compared with each other and with binary ones, and the states of "
       "two\n"
       "solvers (.solverstate) as well.\n"
       "Example: layrub diff keep_iter_500.caffemodel hybrid_iter_500.caffemodel\n",
       false, RunDiff},
      {"device_query", "", 0, "describe the device", "Example: layrub device_query\n", false,
       RunDeviceQuery},
  };
  return commands;
}

namespace {

std::string Usage() {
  std::string text =
      "layrub trains neural nets under a memory plan, from Caffe's model and solver files.\n\n"
      "usage: layrub <command> [--flag=value ...]\n\n";
  for (const Command& command : Commands()) {
    std::string line = "  " + command.name;
    line.resize(16, ' ');
    text += line + command.summary + "\n";
  }
  return text +
         "\n'layrub <command> --help' explains a command; --helpfull lists every flag there is.\n";
}

/// Ends the program if there is no such command.
const Command& CommandOrFail(const std::string& name) {
  std::string names;
  for (const Command& command : Commands()) {
    if (command.name == name) return command;
    if (!names.empty()) names += ", ";
    names += command.name;
  }
  Fail("unknown command '" + name + "' (there are " + names + ")");
}

std::string CommandUsage(const Command& command) {
  return "layrub " + command.name + " " + command.arguments +
         (command.arguments.empty() ? "" : " ") + "[--flag=value ...]";
}

/// Warns of flags that were given to a command that does not use them.
void WarnOfUnusedFlags(const Command& command) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (flag.is_default || !flag.filename.ends_with("layrub/flags.cpp") ||
        KnowsFlag(command.name, flag.name))
      continue;
    LOG(WARNING) << "--" << flag.name << " has no effect on 'layrub " << command.name << "'.";
  }
}

int Help(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::cout << Usage();
    return kSuccess;
  }
  const Command& command = CommandOrFail(words[0]);
  std::cout << "layrub " << command.name << ": " << command.summary
            << "\n\nusage: " << CommandUsage(command) << "\n\n"
            << FlagsHelp(command.name) << command.help;
  return kSuccess;
}

/// Ends the program if a flag that names something is empty, as it is when a script's variable is
/// empty. Ignoring the flag might do something else altogether.
void RefuseEmptyFlags() {
  for (const char* flag : {"solver", "model", "weights", "snapshot", "machine", "profile",
                           "spill_file", "json_summary", "dump", "report", "output", "load"}) {
    if (Given(flag) && gflags::GetCommandLineFlagInfoOrDie(flag).current_value.empty())
      Fail(std::string("--") + flag + "= names no file: give it one, or leave it out.");
  }
  if (Given("gpu") && FLAGS_gpu.empty())
    Fail("--gpu= names no GPU: give its number, several as 0,1, or all, or leave it out.");
  const auto check_names = [](const char* flag, const std::string& list) {
    for (const std::string& file : SplitList(list)) {
      if (file.empty())
        Fail(std::string("--") + flag + "=" + list + ": a name in the list is empty.");
    }
  };
  check_names("weights", FLAGS_weights);
  check_names("load", FLAGS_load);
}

/// The beginning of the message if a library cannot be loaded.
std::string loading;

/// Terminate handler for exceptions of a library's initializers, which cannot leave dlopen.
[[noreturn]] void FailAsLoadingThrew() {
  const std::string threw = "its initialization code has failed";
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& error) {
    Fail(loading + threw + ": " + error.what());
  } catch (...) {
    Fail(loading + threw);
  }
  std::abort();
}

/// Loads the libraries that --load names. The layers that they register can be used by all nets.
void LoadLibraries() {
  if (FLAGS_load.empty()) return;
  for (const std::string& file : SplitList(FLAGS_load)) {
    // dlopen looks for a name without a slash only in the system's folders.
    const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
    loading = "--load=" + FLAGS_load + ": " + file + " cannot be loaded: ";
    const auto fail = [](const std::string& why) { Fail(loading + why); };
    std::error_code ignored;
    const std::filesystem::file_status status = std::filesystem::status(path, ignored);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      fail("it is no regular file");
    const caffe::ThrowOnError scope(caffe::ThrowOnError::kNotLogged);
    const auto outer = std::set_terminate(FailAsLoadingThrew);
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) fail(dlerror());
    std::set_terminate(outer);
    caffe::LoadedLibraries().push_back(file);
  }
}

/// Sets the number of threads that compute on the CPU.
void SetThreads() {
  if (FLAGS_threads < 0) {
    Fail("--threads=" + std::to_string(FLAGS_threads) +
         ": give the number of threads that may compute on the CPU, or 0 for one for each core.");
  }
  if (FLAGS_threads > 0) caffe::SetCpuThreads(FLAGS_threads);
}

void SetTf32() {
  if (caffe::ParseTf32(FLAGS_tf32, &caffe::library_settings().tf32)) return;
  Fail("--tf32=" + FLAGS_tf32 + ": say what a GPU may round to TF32: off, conv or all.");
}

/// Whether the command writes log files by default.
bool KeepsLog(const std::vector<std::string>& words) {
  return std::any_of(Commands().begin(), Commands().end(), [&words](const Command& command) {
    return !words.empty() && command.name == words[0] && command.log_files;
  });
}

int Run(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::cerr << Usage();
    return kFailure;
  }
  if (words[0] == "help") return Help({words.begin() + 1, words.end()});
  const Command& command = CommandOrFail(words[0]);
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  const int count = static_cast<int>(arguments.size());
  const bool open_ended = command.arguments.ends_with("...");
  if (open_ended ? count < command.argument_count : count != command.argument_count) {
    if (command.argument_count == 0) {
      Fail("'" + command.name + "' takes only flags, and '" + arguments[0] +
           "' is not one; 'layrub " + command.name + " --help' explains them.");
    }
    Fail("usage: " + CommandUsage(command) + "; 'layrub " + command.name +
         " --help' explains the flags.");
  }
  if (layrub::StartedByMpi() && command.name != "train")
    Fail("'" + command.name + "' runs in one process: only 'layrub train' is for mpirun.");
  RefuseEmptyFlags();
  WarnOfUnusedFlags(command);
  LoadLibraries();
  SetThreads();
  SetTf32();
  return command.run(arguments);
}

}  // namespace
}  // namespace layrub_tool

int main(int argc, char** argv) {
  try {
    layrub::GuardStandardStreams("layrub");
    caffe::FitBlasIntoAddressSpace(argv);
    FLAGS_alsologtostderr = true;
    // Programs that read logs expect glog's older prefix, without the year.
    gflags::SetCommandLineOption("log_year_in_prefix", "false");
    gflags::SetUsageMessage(layrub_tool::Usage());
    gflags::SetVersionString(LAYRUB_VERSION);
    layrub_tool::CheckFlagFiles({argv + 1, argv + argc});
    layrub_tool::CheckFlagNames(argc, argv);
    gflags::ParseCommandLineNonHelpFlags(&argc, &argv, true);
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (FLAGS_help || FLAGS_helpshort) return layrub_tool::Help(words);
    if (!layrub_tool::KeepsLog(words)) caffe::NoLogFilesByDefault();
    // What all processes log is logged by the first one only.
    if (layrub::StartedAsFollower()) FLAGS_minloglevel = google::GLOG_ERROR;
    caffe::GlobalInit(&argc, &argv);
    caffe::ExitOnFailure(layrub_tool::kFailure);
    layrub_tool::EraseProgressOnInterrupt();
    return layrub_tool::Run(words);
  } catch (const layrub::GroupFailed& failure) {
    layrub_tool::Fail(failure.what());
  } catch (const std::bad_alloc&) {
    layrub_tool::Fail("out of memory");
  } catch (const std::exception& error) {
    const std::string what = error.what();
    if (what.find(std::strerror(EAGAIN)) != std::string::npos) {
      layrub_tool::Fail(
          "a thread cannot be started: raise the limit of the address space (ulimit -v) or of the "
          "number of processes (ulimit -u)");
    }
    layrub_tool::Fail("unexpected error, please report: " + what);
  }
}
