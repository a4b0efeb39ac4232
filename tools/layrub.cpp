// The program layrub, also installed as caffe: trains, tests, times, plans and compares nets.
#include <dlfcn.h>
#include <glog/logging.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <regex>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/placement.hpp"
#include "caffe/util/blas_memory.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/library_settings.hpp"
#include "caffe/util/threads.hpp"
#include "layrub/base/standard_streams.hpp"
#include "layrub/commands.hpp"
#include "layrub/flag_files.hpp"
#include "layrub/flag_names.hpp"
#include "layrub/flags.hpp"
#include "layrub/placement/strategies/strategy.hpp"

DECLARE_bool(help);
DECLARE_bool(helpshort);

namespace layrub_tool {

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"train", "", 0, "train a net, or go on training or fine-tune one",
       "  --solver=FILE          the solver definition (needed)\n"
       "  --load=FILE[,FILE]     libraries with layers of your own, each a .so\n"
       "  --snapshot=FILE        resume from this .solverstate; not together with --weights\n"
       "  --snapshot=latest      resume from the newest whole snapshot under snapshot_prefix; "
       "where\n"
       "                         there is none, train from the beginning\n"
       "  --weights=FILE[,FILE]  start from these .caffemodel files, matched by layer name\n"
       "  --placement=NAME       memory strategy (auto): {strategies}\n"
       "  --device_memory=SIZE   train within this much device memory, such as 8GiB\n"
       "  --host_memory=SIZE     limit for what is moved off the device\n"
       "  --spill_file=PATH      a folder or a new file for what is moved off, instead of RAM\n"
       "  --machine=NAME|FILE    plan for this machine: a known one, or what 'layrub time "
       "--profile'\n"
       "                         measured\n"
       "  --gpu=ID[,ID]|all      train on these GPUs, each with the whole batch, on its part of "
       "the "
       "data\n"
       "  --cpu_solvers=N        N solvers, each with the whole batch, on its part of the data\n"
       "  --strict_mode          refuse solver_mode: GPU in a build for the CPU only\n"
       "  --deterministic        the same plan in each run: nothing is measured\n"
       "  --threads=N            threads that compute on the CPU (one for each core)\n"
       "  --fuse_layers=false    plan BatchNorm, Scale and ReLU as layers of their own\n"
       "  --channel_blocks=false on the CPU, every value is an array of its axes in their order\n"
       "  --cuda_graph=false     let the host queue each of a GPU's kernels in each iteration\n"
       "  --tf32=off|conv|all    what a GPU may round to TF32: nothing, convolutions (default),\n"
       "                         products of matrices as well\n"
       "  --measure_memory       report the device memory that training really touched\n"
       "  --verify_placement=N   instead: N iterations with and without the memory plan, compared\n"
       "                         bit by bit (exit code 1 when they differ); --placement may be a\n"
       "                         list, with NAME:1.2 for 1.2 times the least memory of any plan\n"
       "  --json_summary=FILE    write memory, time and test scores to FILE\n"
       "  --report=DIR           write metrics.jsonl there as training goes, and at its end a page "
       "that\n"
       "                         shows plan, times and curves (report.html, memory.svg, map.svg,\n"
       "                         trace.json)\n"
       "  --sigint_effect, --sighup_effect, --sigterm_effect   stop (after a snapshot), snapshot "
       "or\n"
       "                         none; a second request to stop ends the program at once\n"
       "  --stop_on_nan          end training when the loss is not finite\n"
       "  --synthetic            random data of the right shape instead of the data set\n"
       "  --data_shape=C,H,W     shape of an item, whatever the source has; of tops by name:\n"
       "                         --data_shape=data:3,224,224,label:1\n"
       "  --batch=N              batch size of the data layers\n"
       "  --max_iter=N           iterations, instead of the solver's max_iter\n"
       "  --level=N --stage=A[,B]            state of the net\n"
       "Example: layrub train --solver=lenet_solver.prototxt --device_memory=8GiB\n",
       true, RunTrain},
      {"test", "", 0, "score a trained net",
       "  --model=FILE           the model definition (needed)\n"
       "  --load=FILE[,FILE]     libraries with layers of your own, each a .so\n"
       "  --weights=FILE[,FILE]  its weights (needed)\n"
       "  --iterations=N         batches to run (50)\n"
       "  --synthetic            random data of the right shape instead of the data set\n"
       "  --data_shape=C,H,W     shape of an item, whatever the source has; of tops by name:\n"
       "                         --data_shape=data:3,224,224,label:1\n"
       "  --batch=N              batch size of the data layers\n"
       "  --placement=NAME       memory strategy (liveness): {strategies}\n"
       "  --device_memory=SIZE   run within this much device memory, such as 8GiB\n"
       "  --host_memory=SIZE     limit for what is moved off the device\n"
       "  --spill_file=PATH      a folder or a new file for what is moved off, instead of RAM\n"
       "  --machine=NAME|FILE    its memory is the budget where --device_memory is not given\n"
       "  --deterministic        reproducible results, the same under every plan\n"
       "  --gpu=ID               run on this GPU\n"
       "  --threads=N            threads that compute on the CPU (one for each core)\n"
       "  --fuse_layers=false    plan BatchNorm, Scale and ReLU as layers of their own\n"
       "  --channel_blocks=false on the CPU, every value is an array of its axes in their order\n"
       "  --cuda_graph=false     let the host queue each of a GPU's kernels in each iteration\n"
       "  --tf32=off|conv|all    what a GPU may round to TF32: nothing, convolutions (default),\n"
       "                         products of matrices as well\n"
       "  --level=N --stage=A[,B]            state of the net\n"
       "Example: layrub test --model=lenet.prototxt --weights=lenet_iter_1000.caffemodel "
       "--iterations=100\n",
       true, RunTest},
      {"time", "", 0, "measure the time of each layer",
       "  --model=FILE           the model definition (needed)\n"
       "  --load=FILE[,FILE]     libraries with layers of your own, each a .so\n"
       "  --weights=FILE[,FILE]  weights\n"
       "  --iterations=N         passes to average over (50)\n"
       "  --format=text|json     how to print the table of layers (text)\n"
       "  --placement=NAME       train under it instead: {strategies}\n"
       "  --device_memory=SIZE   the same, within this much device memory, such as 8GiB\n"
       "  --host_memory=SIZE     limit for what is moved off the device\n"
       "  --spill_file=PATH      a folder or a new file for what is moved off, instead of RAM\n"
       "  --machine=NAME|FILE    the machine to plan for and to predict by (what is measured)\n"
       "  --deterministic        the same plan in each run: nothing is measured\n"
       "  --fuse_layers=false    plan BatchNorm, Scale and ReLU as layers of their own\n"
       "  --channel_blocks=false on the CPU, every value is an array of its axes in their order\n"
       "  --profile=FILE         measure this machine and each operation of training, for "
       "--machine\n"
       "  --gpu=ID               run on this GPU\n"
       "  --threads=N            threads that compute on the CPU (one for each core)\n"
       "  --tf32=off|conv|all    what a GPU may round to TF32: nothing, convolutions (default),\n"
       "                         products of matrices as well\n"
       "  --phase=TRAIN|TEST     phase of the net (TRAIN)\n"
       "  --synthetic            random data of the right shape instead of the data set\n"
       "  --data_shape=C,H,W     shape of an item, whatever the source has; of tops by name:\n"
       "                         --data_shape=data:3,224,224,label:1\n"
       "  --batch=N              batch size of the data layers\n"
       "  --level=N --stage=A[,B]            state of the net\n"
       "Example: layrub time --model=lenet.prototxt --iterations=10\n",
       false, RunTime},
      {"plan", "", 0, "tell how much memory a net needs, before training and without its data",
       "  --model=FILE | --solver=FILE   the net, or the solver whose net it is (one is needed)\n"
       "  --load=FILE[,FILE]     libraries with layers of your own, each a .so\n"
       "  --placement=NAME       memory strategy (auto): {strategies}\n"
       "  --device_memory=SIZE   does it fit into this? (exit code 2 if not)\n"
       "  --host_memory=SIZE     limit for what is moved off the device\n"
       "  --machine=NAME|FILE    plan for this machine and its memory: cpu, k40, titanx, p100, "
       "v100,\n"
       "                         a100, h100, h200, or a file from layrub time --profile\n"
       "  --tf32=off|conv|all    plan for a GPU that may round to TF32: nothing, convolutions\n"
       "                         (default), products of matrices as well\n"
       "  --gpu=ID[,ID]|all      as one of these GPUs, which train together\n"
       "  --cpu_solvers=N        as one of N solvers that train together\n"
       "  --deterministic        for training with this flag\n"
       "  --fuse_layers=false    plan BatchNorm, Scale and ReLU as layers of their own\n"
       "  --channel_blocks=false on the CPU, every value is an array of its axes in their order\n"
       "  --phase=TRAIN|TEST     phase of the net (TRAIN)\n"
       "  --synthetic            random data of the right shape instead of the data set\n"
       "  --data_shape=C,H,W     shape of an item, whatever the source has; of tops by name:\n"
       "                         --data_shape=data:3,224,224,label:1\n"
       "  --top_shape=TOP:N,...  plan without a layer that is not here: the shapes of its tops, "
       "batch\n"
       "                         included, as --top_shape=rois:300,5,labels:300\n"
       "  --batch=N              batch size of the data layers\n"
       "  --format=text|json     for people or for programs (text)\n"
       "  --all_layers           all rows of the table of layers, not only those that matter most\n"
       "  --largest_batch        look for the largest batch in very deep nets too (takes long)\n"
       "  --smallest_budget      look for the smallest budget in the deepest nets too (takes "
       "long)\n"
       "  --report=DIR           write pictures of the plan there: report.html, a page with\n"
       "                         all, memory.svg, map.svg and trace.json\n"
       "  --dump=DIR             write graph.txt and plan.txt there\n"
       "  --level=N --stage=A[,B]            state of the net\n"
       "Example: layrub plan --model=lenet.prototxt --device_memory=64MiB\n",
       false, RunPlan},
      {"compare", "", 0, "compare what the memory strategies take, in bytes and in time",
       "  --model=FILE | --solver=FILE   the net, or the solver whose net it is (one is needed)\n"
       "  --load=FILE[,FILE]     libraries with layers of your own, each a .so\n"
       "  --device_memory=SIZE[,SIZE]    compare within these budgets; without any, a strategy "
       "that\n"
       "                         looks at its budget is tried in several\n"
       "  --host_memory=SIZE     limit for what is moved off the device\n"
       "  --machine=NAME|FILE    plan for this machine and its memory: cpu, k40, titanx, p100, "
       "v100,\n"
       "                         a100, h100, h200, or a file from layrub time --profile\n"
       "  --tf32=off|conv|all    plan for a GPU that may round to TF32: nothing, convolutions\n"
       "                         (default), products of matrices as well\n"
       "  --gpu=ID[,ID]|all      as one of these GPUs, which train together\n"
       "  --cpu_solvers=N        as one of N solvers that train together\n"
       "  --deterministic        for training with this flag\n"
       "  --fuse_layers=false    plan BatchNorm, Scale and ReLU as layers of their own\n"
       "  --channel_blocks=false on the CPU, every value is an array of its axes in their order\n"
       "  --report=DIR           draw time against memory: DIR/compare.svg\n"
       "  --format=text|json     for people or for programs (text)\n"
       "  --phase=TRAIN|TEST     phase of the net (TRAIN)\n"
       "  --synthetic            random data of the right shape instead of the data set\n"
       "  --data_shape=C,H,W     shape of an item, whatever the source has; of tops by name:\n"
       "                         --data_shape=data:3,224,224,label:1\n"
       "  --top_shape=TOP:N,...  plan without a layer that is not here: the shapes of its tops, "
       "batch\n"
       "                         included, as --top_shape=rois:300,5,labels:300\n"
       "  --batch=N              batch size of the data layers\n"
       "  --level=N --stage=A[,B]            state of the net\n"
       "Example: layrub compare --model=lenet.prototxt --report=lenet\n",
       false, RunCompare},
      {"draw", "GRAPH.txt PLAN.txt ...", 2, "draw dumped plans, side by side on one scale",
       "  --output=FILE          the picture, an SVG (needed)\n"
       "All plans must be plans of GRAPH.txt. Left to right run the operations of an\n"
       "iteration, upwards the addresses of the device; below is the host's memory. A\n"
       "browser names what is under the mouse.\n"
       "Example: layrub plan --model=lenet.prototxt --placement=keep --dump=keep\n"
       "         layrub draw keep/graph.txt keep/plan.txt --output=keep.svg\n",
       false, RunDraw},
      {"diff", "A.caffemodel B.caffemodel", 2, "compare two sets of weights bit by bit",
       "Prints each difference and 'weights bit-equal: yes' or 'no'; exit code 1 when they "
       "differ.\n"
       "HDF5 files (.h5) may be compared with each other and with binary ones, and the states of "
       "two\n"
       "solvers (.solverstate) as well.\n"
       "Example: layrub diff keep_iter_500.caffemodel hybrid_iter_500.caffemodel\n",
       false, RunDiff},
      {"device_query", "", 0, "describe the device",
       "  --gpu=ID[,ID]|all      only these GPUs (all)\n"
       "Example: layrub device_query\n",
       false, RunDeviceQuery},
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

/// Unknown names end the program.
const Command& CommandOrFail(const std::string& name) {
  std::string names;
  for (const Command& command : Commands()) {
    if (command.name == name) return command;
    if (!names.empty()) names += ", ";
    names += command.name;
  }
  Fail("unknown command '" + name + "' (there are " + names + ")");
}

/// `help` with the names of all strategies, in lines of at most 80 characters, for "{strategies}".
std::string WithStrategies(std::string help) {
  constexpr size_t kWidth = 80;
  const std::string mark = "{strategies}", indent(25, ' ');
  const size_t at = help.find(mark);
  if (at == std::string::npos) return help;
  const std::vector<std::string> names = layrub::StrategyNames();
  std::string list;
  size_t column = at - (help.rfind('\n', at) + 1);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string word = names[i] + (i + 1 < names.size() ? "," : "");
    const bool fits = column + 1 + word.size() <= kWidth;
    if (i > 0) list += fits ? " " : "\n" + indent;
    column = (fits ? column + 1 : indent.size()) + word.size();
    list += word;
  }
  return help.replace(at, mark.size(), list);
}

std::string CommandUsage(const Command& command) {
  return "layrub " + command.name + " " + command.arguments +
         (command.arguments.empty() ? "" : " ") + "[--flag=value ...]";
}

/// Tells of flags of this program that were given to a command whose help does not name them.
void WarnOfUnusedFlags(const Command& command) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    const std::regex named("--" + flag.name + "\\b");
    if (flag.is_default || !flag.filename.ends_with("layrub/flags.cpp") ||
        std::regex_search(command.help, named))
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
            << WithStrategies(command.help);
  return kSuccess;
}

/// Ends the program where a flag that names something names nothing, as of a script's variable that
/// is empty: without the flag, what is done may be something else altogether.
void RefuseEmptyFlags() {
  for (const char* flag : {"solver", "model", "weights", "snapshot", "machine", "profile",
                           "spill_file", "json_summary", "dump", "report", "output", "load"}) {
    if (Given(flag) && gflags::GetCommandLineFlagInfoOrDie(flag).current_value.empty())
      Fail(std::string("--") + flag + "= names no file: give it one, or leave it out.");
  }
  if (Given("gpu") && FLAGS_gpu.empty())
    Fail("--gpu= names no GPU: give its number, several as 0,1, or all, or leave it out.");
  for (const std::string& file : SplitList(FLAGS_weights)) {
    if (file.empty()) Fail("--weights=" + FLAGS_weights + ": a name in the list is empty.");
  }
}

/// Loads the libraries that --load names: what they register is there for all nets.
void LoadLibraries() {
  if (FLAGS_load.empty()) return;
  for (const std::string& file : SplitList(FLAGS_load)) {
    // A name without a slash is looked for in the system's folders alone.
    const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
      Fail("--load=" + FLAGS_load + ": " + file + " cannot be loaded: " + dlerror());
  }
}

/// How layers are planned, and how loops and products run on the CPU, from now on.
void SetLoops() {
  caffe::EnableLayerFusion(FLAGS_fuse_layers);
  caffe::EnableChannelBlocks(FLAGS_channel_blocks);
  caffe::EnableCaptures(FLAGS_cuda_graph);
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

/// The command leaves log files where no flag says otherwise.
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
      Fail("'" + command.name + "' takes flags alone, and '" + arguments[0] +
           "' is none; 'layrub " + command.name + " --help' explains them.");
    }
    Fail("usage: " + CommandUsage(command) + "; 'layrub " + command.name +
         " --help' explains the flags.");
  }
  RefuseEmptyFlags();
  WarnOfUnusedFlags(command);
  LoadLibraries();
  SetLoops();
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
    caffe::GlobalInit(&argc, &argv);
    caffe::ExitOnFailure(layrub_tool::kFailure);
    layrub_tool::WipeOnInterrupt();
    return layrub_tool::Run(words);
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
