#ifndef CAFFE_LAYERS_CONV_CONV_WORKSPACE_HPP_
#define CAFFE_LAYERS_CONV_CONV_WORKSPACE_HPP_

#include <string>

#include "caffe/kernels/conv/conv.hpp"
#include "caffe/syncedmem.hpp"
#include "caffe/util/algorithm_table.hpp"

namespace caffe {

/// The algorithm and the workspace of one pass of a convolution: those given or, if none are (the
/// layer's traits do not describe this pass), the algorithm with the smallest workspace, which is
/// taken from the pool.
template <typename Dtype>
class ConvWorkspace {
 public:
  ConvWorkspace(const DeviceContext& context, const kernels::Convolution& conv,
                kernels::ConvolutionPass pass, kernels::AlgorithmRun given = {})
      : chosen_(given) {
    if (given.memory || !given.algorithm.empty()) return;
    const auto choices = kernels::ConvolutionAlgorithms<Dtype>(context, conv, {pass});
    if (choices.empty()) return;
    name_ = choices[0].name;
    chosen_.algorithm = AlgorithmOf(name_, 0);
    if (choices[0].bytes == 0) return;
    memory_.reset(new SyncedMemory(choices[0].bytes));
    chosen_.memory = context.gpu ? memory_->mutable_gpu_data() : memory_->mutable_cpu_data();
  }
  const kernels::AlgorithmRun& chosen() const { return chosen_; }

 private:
  std::string name_;
  shared_ptr<SyncedMemory> memory_;
  kernels::AlgorithmRun chosen_;

  DISABLE_COPY_AND_ASSIGN(ConvWorkspace);
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_CONV_CONV_WORKSPACE_HPP_
