#include "layrub/flag_table.hpp"

#include <sstream>
#include <string>
#include <vector>

#include "layrub/placement/strategies/strategy.hpp"

namespace layrub_tool {

const std::vector<FlagRow>& FlagTable() {
  static const std::vector<FlagRow> rows = {
      // What to run.
      {"train", "--solver=FILE", "the solver definition (needed)"},
      {"plan compare", "--solver=FILE", "the solver whose nets are planned (this or --model)"},
      {"test time", "--model=FILE", "the model definition (needed)"},
      {"plan compare", "--model=FILE", "the net that is planned (this or --solver)"},
      {"train test time plan compare", "--load=FILE[,FILE]",
       "libraries with your own layers, each a .so"},
      {"train", "--snapshot=FILE|latest",
       "resume from this .solverstate; latest: the newest complete snapshot under snapshot_prefix, "
       "or train from the beginning if there is none. Not together with --weights"},
      {"train", "--weights=FILE[,FILE]",
       "start from these .caffemodel files, matched by layer name"},
      {"test", "--weights=FILE[,FILE]", "its weights (needed)"},
      {"time", "--weights=FILE[,FILE]", "its weights"},
      {"train", "--max_iter=N", "iterations, instead of the solver's max_iter"},
      {"test", "--iterations=N", "batches to run (50)"},
      {"time", "--iterations=N", "passes to average over (50)"},
      {"time plan compare", "--phase=TRAIN|TEST", "phase of the net (TRAIN)"},
      {"train test time plan compare", "--level=N", "level of the net's state"},
      {"train test time plan compare", "--stage=A[,B]", "stages of the net's state"},
      // The memory plan.
      {"train plan", "--placement=NAME", "memory strategy (auto): {strategies}"},
      {"test", "--placement=NAME", "memory strategy (liveness): {strategies}"},
      {"compare", "--placement=NAME",
       "with --devices, memory strategy of each device (auto): {strategies}"},
      {"time", "--placement=NAME",
       "time training under this memory strategy instead: {strategies}"},
      {"train", "--device_memory=SIZE", "train within this much device memory, such as 8GiB"},
      {"test", "--device_memory=SIZE", "run within this much device memory, such as 8GiB"},
      {"time", "--device_memory=SIZE",
       "time training within this much device memory instead, such as 8GiB"},
      {"plan", "--device_memory=SIZE",
       "does it fit into this much, such as 8GiB? (exit code 2 if not)"},
      {"compare", "--device_memory=SIZE[,SIZE]",
       "compare within these budgets; by default, a strategy that uses its budget is tried in "
       "several"},
      {"train test time plan compare", "--host_memory=SIZE",
       "limit of host memory for offloaded tensors (none; 0 with a spill file)"},
      {"train test time", "--spill_file=PATH",
       "a folder or a new file for offloaded tensors that do not fit into --host_memory"},
      {"train test time plan compare", "--spill_memory=SIZE", "limit for the spill file (none)"},
      {"train", "--machine=NAME|FILE",
       "plan for this machine: a known one, or a file from layrub time --profile"},
      {"test", "--machine=NAME|FILE", "its memory is the budget if --device_memory is not given"},
      {"time", "--machine=NAME|FILE",
       "the machine to plan and predict for (this one, as measured)"},
      {"plan compare", "--machine=NAME|FILE",
       "plan for this machine and its memory: cpu, k40, k80, titanx, p100, v100, a100, h100, h200, "
       "or a file from layrub time --profile"},
      {"train time", "--deterministic", "the same plan in each run: nothing is measured"},
      {"test", "--deterministic", "reproducible results, the same under every plan"},
      {"plan compare", "--deterministic", "plan for training with this flag"},
      // The device.
      {"train", "--gpu=ID[,ID]|all",
       "train on these GPUs, each with the whole batch, on its part of the data"},
      {"test time", "--gpu=ID", "run on this GPU"},
      {"plan compare", "--gpu=ID[,ID]|all", "plan for one of these GPUs, which train together"},
      {"device_query", "--gpu=ID[,ID]|all", "only these GPUs (all)"},
      {"train", "--cpu_solvers=N", "N solvers, each with the whole batch, on its part of the data"},
      {"plan compare", "--cpu_solvers=N", "plan for one of N solvers that train together"},
      {"plan", "--devices=N",
       "divide the net among N devices, 2, 4, 8 and so on, and plan for each of them"},
      {"compare", "--devices=N",
       "compare the ways to divide the net among N devices, 2, 4, 8 and so on, instead of "
       "strategies"},
      {"compare", "--partition=NAME[,NAME]",
       "with --devices, only these ways: auto, tofu, data, chop, rows (layrub plan --help)"},
      {"train", "--partition=NAME",
       "divide the net among the GPUs of --gpu, or the processes that mpirun starts, so that each "
       "needs a part of the memory: auto, the fastest partition that is found; tofu, the one with "
       "the fewest bytes between devices; data, each device has a part of the batch; chop and "
       "rows, older methods, for comparison"},
      {"plan", "--partition=NAME",
       "with --devices, how the net is divided (auto): auto, the fastest partition that is found; "
       "tofu, the one with the fewest bytes between devices, with every layer divided; data, each "
       "device has a part of the batch; chop and rows, older methods, for comparison"},
      {"train", "--strict_mode", "refuse solver_mode: GPU in a build for the CPU only"},
      {"train test time", "--threads=N", "threads that compute on the CPU (one for each core)"},
      {"train test time", "--tf32=off|conv|all",
       "what a GPU may round to TF32: nothing, convolutions (default), matrix products as well"},
      {"plan compare", "--tf32=off|conv|all",
       "plan for a GPU that may round to TF32: nothing, convolutions (default), matrix products as "
       "well"},
      // Data.
      {"train test time plan compare", "--synthetic",
       "random data of the right shape instead of the data set"},
      {"train test time plan compare", "--data_shape=C,H,W",
       "shape of an item, instead of the source's; for several tops, by name: "
       "--data_shape=data:3,224,224,label:1"},
      {"plan compare", "--top_shape=TOP:N,...",
       "plan a net with a layer that this program lacks: the shapes of its tops, batch included, "
       "such as --top_shape=rois:300,5,labels:300"},
      {"train test time plan compare", "--batch=N", "batch size of the data layers"},
      // How training ends and goes on.
      {"train", "--sigint_effect=stop|snapshot|none",
       "what Ctrl-C does: stop after a snapshot (default), snapshot, or none; a second request to "
       "stop ends the program at once"},
      {"train", "--sighup_effect=stop|snapshot|none", "the same for SIGHUP (snapshot)"},
      {"train", "--sigterm_effect=stop|snapshot|none", "the same for SIGTERM (stop)"},
      {"train", "--stop_on_nan", "end training when the loss is not finite"},
      // What is told.
      {"train", "--measure_memory", "report the device memory that training actually used"},
      {"train", "--verify_placement=N",
       "instead of training, run N iterations with and without the memory plan and compare them "
       "bit by bit (exit code 1 if they differ); --placement may be a list, with NAME:1.2 for 1.2 "
       "times the least memory of any plan"},
      {"train", "--json_summary=FILE", "write memory, time and test scores to FILE"},
      {"train", "--report=DIR",
       "write metrics.jsonl there during training, and at its end a page that shows plan, times "
       "and curves (report.html, memory.svg, map.svg, trace.json)"},
      {"plan", "--report=DIR",
       "write pictures of the plan there: report.html, a page with all, memory.svg, map.svg and "
       "trace.json"},
      {"compare", "--report=DIR", "draw time against memory: DIR/compare.svg"},
      {"time", "--profile=FILE",
       "measure this machine and each operation of training, for --machine"},
      {"time plan compare", "--format=text|json", "for people or for programs (text)"},
      {"plan", "--all_layers",
       "show all rows of the table of layers, not only the most important ones"},
      {"plan", "--largest_batch", "look for the largest batch in very deep nets too (takes long)"},
      {"plan", "--smallest_budget",
       "look for the smallest budget in the deepest nets too (takes long)"},
      {"plan", "--dump=DIR",
       "write graph.txt and plan.txt there, and with --devices also one device's net, "
       "net.prototxt"},
      {"draw", "--output=FILE", "the picture, an SVG (needed)"},
      {"export", "--model=FILE", "the net (needed); of a training net, its TEST phase"},
      {"export", "--weights=FILE[,FILE]", "its weights"},
      {"export", "--output=FILE", "the ONNX file (needed)"},
      {"export", "--opset=N", "version of ONNX's operators, 13 to 21 (17)"},
      {"export", "--dynamic_batch", "inputs and outputs have any batch size"},
      {"export", "--fold", "a BatchNorm and the Scale after it become one operator"},
      {"import", "--onnx=FILE", "the ONNX file (needed)"},
      {"import", "--output=PREFIX", "writes PREFIX.prototxt and PREFIX.caffemodel (needed)"},
      {"import", "--batch=N", "batch size of the inputs (the file's, or 1 if it has none)"},
      {"import", "--data_shape=C,H,W",
       "shape of an item if the file leaves it open; for several inputs, by name: "
       "--data_shape=images:3,224,224,ids:16"},
      {"export import", "--verify=N",
       "compare the results of N random inputs with ONNX Runtime, and fail if an output differs by "
       "more than 1e-4 of its largest value (3 if ONNX Runtime is found, else 0)"},
      {"train test time plan compare", "--debug=NAME[,NAME]",
       "turn off optimizations that do not change any bit: no_layer_fusion (BatchNorm, Scale and "
       "ReLU run as separate layers), no_channel_blocks (on the CPU, values are plain arrays with "
       "their axes in order), no_cuda_graphs (the host queues each GPU kernel in each iteration)"},
  };
  return rows;
}

namespace {

constexpr size_t kTextColumn = 25, kWidth = 80;

/// Whether `word` is one of the words of `text`.
bool HasWord(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string each; words >> each;) {
    if (each == word) return true;
  }
  return false;
}

/// "device_memory" of "--device_memory=SIZE".
std::string NameOf(const FlagRow& row) {
  const std::string flag = row.flag;
  return flag.substr(2, flag.find('=') - 2);
}

std::string WithStrategies(std::string text) {
  const std::string mark = "{strategies}";
  const size_t at = text.find(mark);
  if (at == std::string::npos) return text;
  std::string list;
  for (const std::string& name : layrub::StrategyNames()) list += (list.empty() ? "" : ", ") + name;
  return text.replace(at, mark.size(), list);
}

}  // namespace

bool KnowsFlag(const std::string& command, const std::string& flag) {
  for (const FlagRow& row : FlagTable()) {
    if (NameOf(row) == flag && HasWord(row.commands, command)) return true;
  }
  return false;
}

bool HoldsList(const std::string& command, const std::string& flag) {
  const bool known = KnowsFlag(command, flag);
  for (const FlagRow& row : FlagTable()) {
    if (NameOf(row) != flag || (known && !HasWord(row.commands, command))) continue;
    if (std::string(row.flag).find(',') != std::string::npos) return true;
  }
  return false;
}

std::string FlagsHelp(const std::string& command) {
  std::string help;
  for (const FlagRow& row : FlagTable()) {
    if (!HasWord(row.commands, command)) continue;
    std::string line = std::string("  ") + row.flag;
    if (line.size() + 2 > kTextColumn) {
      help += line + "\n";
      line.clear();
    }
    line.resize(kTextColumn, ' ');
    std::istringstream words(WithStrategies(row.text));
    bool empty = true;
    for (std::string word; words >> word; empty = false) {
      if (!empty && line.size() + 1 + word.size() > kWidth) {
        help += line + "\n";
        line.assign(kTextColumn, ' ');
        empty = true;
      }
      line += (empty ? "" : " ") + word;
    }
    help += line + "\n";
  }
  return help;
}

}  // namespace layrub_tool
