#ifndef CAFFE_LAYERS_CONV_CONV_WORKSPACE_HPP_
#define CAFFE_LAYERS_CONV_CONV_WORKSPACE_HPP_

#include <string>

#include "caffe/kernels/conv/conv.hpp"
#include "caffe/syncedmem.hpp"
#include "caffe/util/algorithm_table.hpp"

namespace caffe {

/// What a pass of a convolution works in: what it is given or, where that is nothing (a layer whose
/// traits are not about this pass), the smallest there is, from the pool.
template <typename Dtype>
class ConvWorkspace {
 public:
  ConvWorkspace(const DeviceContext& context, const kernels::Convolution& conv,
                kernels::ConvolutionPass pass, kernels::AlgorithmScratch given = {})
      : scratch_(given) {
    if (given.memory || !given.algorithm.empty()) return;
    const auto choices = kernels::ConvolutionWorkspaces<Dtype>(context, conv, {pass});
    if (choices.empty()) return;
    name_ = choices[0].name;
    scratch_.algorithm = AlgorithmOf(name_, 0);
    if (choices[0].bytes == 0) return;
    memory_.reset(new SyncedMemory(choices[0].bytes));
    scratch_.memory = context.gpu ? memory_->mutable_gpu_data() : memory_->mutable_cpu_data();
  }
  const kernels::AlgorithmScratch& scratch() const { return scratch_; }

 private:
  std::string name_;
  shared_ptr<SyncedMemory> memory_;
  kernels::AlgorithmScratch scratch_;

  DISABLE_COPY_AND_ASSIGN(ConvWorkspace);
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_CONV_CONV_WORKSPACE_HPP_
