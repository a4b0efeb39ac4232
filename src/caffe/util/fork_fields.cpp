#include "caffe/util/fork_fields.hpp"

namespace caffe {

namespace {

constexpr char kNvidia[] = "NVIDIA/caffe", kIntel[] = "intel/caffe", kSsd[] = "weiliu89/caffe",
               kTsn[] = "yjxiong/caffe";
constexpr char kPrecision[] = "all is computed in single precision";
constexpr char kAlgorithms[] = "the plan chooses the algorithms";
constexpr char kReading[] = "how data is read ahead does not change it";
constexpr char kOwnPlan[] = "the plan decides about memory";
constexpr char kInteger[] = "nothing is computed in integers";

constexpr ForkField kFields[] = {
    {"NetParameter", "default_forward_type", kNvidia, kPrecision},
    {"NetParameter", "default_backward_type", kNvidia, kPrecision},
    {"NetParameter", "default_forward_math", kNvidia, kPrecision},
    {"NetParameter", "default_backward_math", kNvidia, kPrecision},
    {"NetParameter", "global_grad_scale", kNvidia, kPrecision},
    {"NetParameter", "default_cudnn_math_override", kNvidia, kAlgorithms},
    {"NetParameter", "default_conv_algos_override", kNvidia, kAlgorithms},
    {"NetParameter", "reduce_buckets", kNvidia, "gradients are summed as they come"},
    {"NetParameter", "eltwise_mem_sharing", kNvidia, kOwnPlan},
    {"NetParameter", "mem_param", kTsn, kOwnPlan},
    {"NetParameter", "engine", kIntel, kAlgorithms},
    {"NetParameter", "compile_net_state", kIntel, "no layers are folded into others"},
    {"LayerParameter", "forward_type", kNvidia, kPrecision},
    {"LayerParameter", "backward_type", kNvidia, kPrecision},
    {"LayerParameter", "forward_math", kNvidia, kPrecision},
    {"LayerParameter", "backward_math", kNvidia, kPrecision},
    {"LayerParameter", "cudnn_math_override", kNvidia, kAlgorithms},
    {"LayerParameter", "engine", kIntel, kAlgorithms},
    {"LayerParameter", "quantization_param", kIntel, kInteger},
    {"ConvolutionParameter", "conv_algos_override", kNvidia, kAlgorithms},
    {"ConvolutionParameter", "cudnn_math_override", kNvidia, kAlgorithms},
    {"DataParameter", "cache", kNvidia, kReading},
    {"DataParameter", "threads", kNvidia, kReading},
    {"DataParameter", "parser_threads", kNvidia, kReading},
    {"TransformationParameter", "use_gpu_transform", kNvidia, kReading},
    {"SolverParameter", "richness", kTsn, kOwnPlan},

    {"SolverParameter", "larc", kNvidia, nullptr},
    {"SolverParameter", "larc_eta", kNvidia, nullptr},
    {"SolverParameter", "larc_policy", kNvidia, nullptr},
    {"SolverParameter", "max_momentum", kNvidia, nullptr},
    {"SolverParameter", "min_lr", kNvidia, nullptr},
    {"SolverParameter", "momentum_policy", kNvidia, nullptr},
    {"SolverParameter", "momentum_power", kNvidia, nullptr},
};

}  // namespace

const ForkField* FindForkField(const std::string& message, const std::string& field) {
  for (const ForkField& known : kFields) {
    if (message == known.message && field == known.field) return &known;
  }
  return nullptr;
}

}  // namespace caffe
