// Prototxt files of nets and solvers, which are read and planned as `layrub plan` does; and the
// command line of `layrub plan`.
#include <gflags/gflags.h>
#include <google/protobuf/text_format.h>

#include <sstream>

#include "caffe/caffe.hpp"
#include "caffe/placement.hpp"
#include "fuzz/target.hpp"
#include "layrub/commands.hpp"
#include "layrub/flag_files.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"
#include "layrub/plan_report.hpp"
#include "layrub/planned_nets.hpp"

namespace GFLAGS_NAMESPACE {
// The function that gflags calls if a command line is wrong. It is exit, unless a test replaces it.
extern void (*gflags_exitfunc)(int);
}  // namespace GFLAGS_NAMESPACE

namespace layrub_fuzz {
namespace {

constexpr size_t kPlannedOps = 48;  ///< larger nets are only set up, not planned

constexpr char kSmallSolver[] = R"(
net: "small.prototxt" type: "Adam" base_lr: 0.1 lr_policy: "step" gamma: 0.5 stepsize: 10
max_iter: 20 momentum: 0.9 momentum2: 0.999 snapshot: 10 snapshot_prefix: "run" random_seed: 1
placement { strategy: "hybrid" device_memory: "1MiB" keep: "conv" }
)";

/// Does what `layrub plan` does with its flags, without printing.
void Plan() {
  const layrub_tool::WantedNets nets = layrub_tool::NetsOfFlags("plan");
  layrub::Result<caffe::PlacementOptions> options = caffe::ToOptions(nets.placement);
  Require(options.status());
  layrub_tool::ApplyMachineFlags(&options.value());
  const layrub::Result<caffe::SolverGraphs> graphs =
      layrub_tool::BuildGraphs(nets, options.value());
  Require(graphs.status());
  if (graphs.value().train.ops.size() > kPlannedOps) return;
  const auto report = layrub_tool::MakeReport(graphs.value(), options.value(), false);
  Require(report.status());
  const layrub::Graph& graph = graphs.value().of(report.value().nets.train);
  layrub_tool::ToText(graph, report.value(), true);
  layrub_tool::ToJson(graph, report.value());
}

/// Writes the files that inputs may name.
void WriteSmallFiles() {
  static const std::string net = Write("small.prototxt", kSmallNet);
  static const std::string solver = Write("small_solver.prototxt", kSmallSolver);
}

void ReadNet(const std::string& text) {
  FLAGS_solver.clear();
  FLAGS_model = Write("net.prototxt", text);
  Plan();
}

void ReadSolver(const std::string& text) {
  WriteSmallFiles();
  FLAGS_model.clear();
  FLAGS_solver = Write("solver.prototxt", text);
  Plan();
}

void ReadMachine(const std::string& text) {
  WriteSmallFiles();
  const gflags::FlagSaver saved;
  FLAGS_solver.clear();
  FLAGS_model = "small.prototxt";
  gflags::SetCommandLineOption("machine", Write("machine.json", text).c_str());
  Plan();
}

/// Reads a command line with one argument per line, without the program's name.
void ReadCommandLine(const std::string& lines) {
  WriteSmallFiles();
  GFLAGS_NAMESPACE::gflags_exitfunc = [](int) {
    throw caffe::Error("gflags refuses the command line");
  };
  const gflags::FlagSaver saved;
  std::vector<std::string> words = {"layrub"};
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) words.push_back(line);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  layrub_tool::CheckFlagFiles({words.begin() + 1, words.end()});
  int count = static_cast<int>(words.size());
  char** argv = arguments.data();
  gflags::ParseCommandLineNonHelpFlags(&count, &argv, true);
  // Only files of the current folder may be named: the fuzzer must not read other files.
  for (const std::string* file : {&FLAGS_model, &FLAGS_solver, &FLAGS_machine}) {
    if (file->find('/') != std::string::npos) throw caffe::Error("a file of another folder");
  }
  layrub_tool::SolversFlag();
  Plan();
}

std::vector<std::string> NetSeeds() {
  std::vector<std::string> seeds = {kSmallNet};
  for (const char* name : {"activations", "filter", "losses", "recurrent", "shapes"})
    seeds.push_back(SourceFile(std::string("src/caffe/net/test/nets/types/") + name + ".prototxt"));
  // Every layer alone, so that other layers do not refuse what the fuzzer has changed.
  for (const char* name : {"activations", "losses", "shapes", "recurrent"}) {
    caffe::NetParameter net;
    google::protobuf::TextFormat::ParseFromString(
        SourceFile(std::string("src/caffe/net/test/nets/types/") + name + ".prototxt"), &net);
    for (const caffe::LayerParameter& layer : net.layer()) {
      if (layer.bottom_size() != 1 || layer.type() == "Reshape") continue;
      caffe::NetParameter alone;
      caffe::LayerParameter* input = alone.add_layer();
      input->set_name("in");
      input->set_type("Input");
      input->add_top(layer.bottom(0));
      caffe::BlobShape* shape = input->mutable_input_param()->add_shape();
      for (int dim : {4, 4, 8, 8}) shape->add_dim(dim);
      *alone.add_layer() = layer;
      std::string text;
      google::protobuf::TextFormat::PrintToString(alone, &text);
      seeds.push_back(text);
    }
  }
  // Formats of older releases of Caffe.
  seeds.push_back(R"(name: "v1" input: "x" input_dim: 2 input_dim: 3 input_dim: 8 input_dim: 8
layers { name: "c" type: CONVOLUTION bottom: "x" top: "c" blobs_lr: 1 weight_decay: 1
         convolution_param { num_output: 2 kernel_size: 3 } }
layers { name: "r" type: RELU bottom: "c" top: "c" })");
  seeds.push_back(R"(name: "v0" input: "x" input_dim: 2 input_dim: 3 input_dim: 8 input_dim: 8
layers { layer { name: "p" type: "padding" pad: 1 } bottom: "x" top: "p" }
layers { layer { name: "c" type: "conv" num_output: 2 kernelsize: 3 } bottom: "p" top: "c" })");
  return seeds;
}

std::vector<std::string> SolverSeeds() {
  WriteSmallFiles();
  std::string with_net = "base_lr: 0.01 lr_policy: 'fixed' solver_type: NESTEROV ";
  with_net += "test_iter: 1 test_interval: 5 ";
  with_net += "train_net_param {" + std::string(kSmallNet) + "} test_net: 'small.prototxt'";
  return {kSmallSolver, with_net, "net: 'small.prototxt' type: 'SGD' lr_policy: 'fixed'"};
}

std::vector<std::string> MachineSeeds() {
  return {R"({"name": "m", "flops": 1e12, "memory_bandwidth": 1e11, "link_down": 1e9,
 "link_up": 1e9, "link_both": 2e9, "latency": 1e-6, "compute_while_copying": 1,
 "copy_while_computing": 1, "capacity": 1e9, "links": 2,
 "operations": [{"op": "conv/forward", "variant": "-", "bytes_moved": 0, "seconds": 0.001}]})"};
}

std::vector<std::string> CommandLineSeeds() {
  return {
      "plan\n--model=small.prototxt",
      "plan\n--solver=small_solver.prototxt\n--device_memory=1MiB\n--placement=hybrid",
      "plan\n--model=small.prototxt\n--phase=TEST\n--level=1\n--stage=a,b",
      "plan\n--model=small.prototxt\n--cpu_solvers=4\n--machine=h100\n--host_memory=1GB",
      "plan\n--model=small.prototxt\n--device_memory=1MiB\n--host_memory=1KiB\n--spill_memory=1GB",
      "plan\n--solver=small_solver.prototxt\n--synthetic\n--data_shape=3,8,8",
  };
}

std::vector<std::string> NetWords() { return caffe::LayerRegistry<float>::LayerTypeList(); }

std::vector<std::string> SolverWords() {
  std::vector<std::string> words = caffe::SolverRegistry<float>::SolverTypeList();
  for (const char* word : {"step", "fixed", "exp", "inv", "multistep", "poly", "sigmoid", "MAX"})
    words.push_back(word);
  return words;
}

std::vector<std::string> MachineWords() {
  return {"name",
          "flops",
          "memory_bandwidth",
          "link_down",
          "link_up",
          "link_both",
          "latency",
          "compute_while_copying",
          "copy_while_computing",
          "capacity",
          "links",
          "operations",
          "op",
          "variant",
          "bytes_moved",
          "seconds",
          "1e308",
          "1e-308",
          "null"};
}

std::vector<std::string> CommandLineWords() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> words = {"plan", "train", "99999999999", "-1", "nan", "GiB"};
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (flag.filename.ends_with("layrub/flags.cpp")) words.push_back("--" + flag.name + "=");
  }
  return words;
}

const Registration net({"net", &ReadNet, &NetSeeds, &NetWords, &New<caffe::NetParameter>, true});
const Registration solver({"solver", &ReadSolver, &SolverSeeds, &SolverWords,
                           &New<caffe::SolverParameter>, true});
const Registration machine({"machine", &ReadMachine, &MachineSeeds, &MachineWords});
const Registration line({"command_line", &ReadCommandLine, &CommandLineSeeds, &CommandLineWords});

}  // namespace
}  // namespace layrub_fuzz
