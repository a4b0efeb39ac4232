#include "caffe/layers/base_conv_layer.hpp"

#include "caffe/filler.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/math/bias.hpp"
#include "caffe/util/library_settings.hpp"
#include "conv_workspace.hpp"
#include "spatial_shapes.hpp"

namespace caffe {
namespace {

enum ConvParam { kConvWeights, kConvBias };
using Pass = kernels::ConvolutionPass;

}  // namespace

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>&) {
  const ConvolutionParameter& param = this->layer_param_.convolution_param();
  const string& name = this->layer_param_.name();
  force_nd_im2col_ = param.force_nd_im2col();
  reversed_ = reverse_dimensions();
  channel_axis_ = bottom[0]->CanonicalAxisIndex(param.axis());
  num_spatial_axes_ = bottom[0]->num_axes() - channel_axis_ - 1;
  SetSpatialShapes(name, param, num_spatial_axes_, &kernel_shape_, &stride_, &pad_, &dilation_);
  channels_ = bottom[0]->shape(channel_axis_);
  num_output_ = static_cast<int>(param.num_output());
  CHECK_GT(num_output_, 0) << "Layer " << name << ": num_output must be 1 to 2147483647.";
  group_ = static_cast<int>(param.group());
  CHECK_GT(group_, 0) << "Layer " << name << ": group must be positive.";
  CHECK_EQ(channels_ % group_, 0) << "Layer " << name << ": group (" << group_
                                  << ") must divide the " << channels_ << " channels of its input.";
  CHECK_EQ(num_output_ % group_, 0)
      << "Layer " << name << ": Number of output should be multiples of group.";
  bias_term_ = param.bias_term();
  SetUpParameters();
  weight_offset_ = this->blobs_[kConvWeights]->count() / group_;
  is_1x1_ = true;
  for (int i = 0; i < num_spatial_axes_; ++i) {
    is_1x1_ &=
        kernel_shape_.cpu_data()[i] == 1 && stride_.cpu_data()[i] == 1 && pad_.cpu_data()[i] == 0;
  }
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::SetUpParameters() {
  const ConvolutionParameter& param = this->layer_param_.convolution_param();
  vector<int> weight_shape = {reversed_ ? channels_ : num_output_,
                              (reversed_ ? num_output_ : channels_) / group_};
  weight_shape.insert(weight_shape.end(), kernel_shape_.cpu_data(),
                      kernel_shape_.cpu_data() + num_spatial_axes_);
  const vector<int> bias_shape(bias_term_, num_output_);
  if (!this->blobs_.empty()) {
    CHECK_EQ(1 + bias_term_, static_cast<int>(this->blobs_.size()))
        << "Layer " << this->layer_param_.name() << ": Incorrect number of weight blobs.";
    CheckParameterShape(kConvWeights, weight_shape, "weight");
    if (bias_term_) CheckParameterShape(kConvBias, bias_shape, "bias");
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    this->blobs_.emplace_back(new Blob<Dtype>(weight_shape));
    shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(param.weight_filler()))
        ->Fill(this->blobs_[kConvWeights].get());
    if (bias_term_) {
      this->blobs_.emplace_back(new Blob<Dtype>(bias_shape));
      shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(param.bias_filler()))
          ->Fill(this->blobs_[kConvBias].get());
    }
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::CheckParameterShape(int index, const vector<int>& expected,
                                                      const char* name) const {
  const Blob<Dtype>& blob = *this->blobs_[index];
  if (blob.shape() == expected) return;
  LOG(FATAL) << "Layer " << this->layer_param_.name() << ": Incorrect " << name
             << " shape: expected shape " << Blob<Dtype>(expected).shape_string()
             << "; instead, shape was " << blob.shape_string();
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK_EQ(bottom[0]->num_axes(), channel_axis_ + 1 + num_spatial_axes_)
      << "Layer " << name << ": bottom num_axes may not change.";
  CHECK_EQ(bottom[0]->shape(channel_axis_), channels_)
      << "Layer " << name << ": Input size incompatible with convolution kernel.";
  for (size_t i = 1; i < bottom.size(); ++i) {
    CHECK(bottom[0]->shape() == bottom[i]->shape())
        << "Layer " << name
        << ": All inputs must have the same shape: shape[0]: " << bottom[0]->shape_string()
        << " vs. shape[" << i << "]: " << bottom[i]->shape_string();
  }
  num_ = bottom[0]->count(0, channel_axis_);
  bottom_shape_ = &bottom[0]->shape();
  compute_output_shape();
  vector<int> top_shape(bottom[0]->shape().begin(), bottom[0]->shape().begin() + channel_axis_);
  top_shape.push_back(num_output_);
  top_shape.insert(top_shape.end(), output_shape_.begin(), output_shape_.end());
  for (Blob<Dtype>* blob : top) blob->Reshape(top_shape);
  bottom_dim_ = bottom[0]->count(channel_axis_);
  top_dim_ = top[0]->count(channel_axis_);
  out_spatial_dim_ = top[0]->count(channel_axis_ + 1);
  const Blob<Dtype>& input = reversed_ ? *top[0] : *bottom[0];
  const Blob<Dtype>& output = reversed_ ? *bottom[0] : *top[0];
  conv_input_shape_.Reshape({num_spatial_axes_ + 1});
  std::copy(input.shape().begin() + channel_axis_, input.shape().end(),
            conv_input_shape_.mutable_cpu_data());
  col_buffer_shape_.assign(output.shape().begin() + channel_axis_, output.shape().end());
  col_buffer_shape_[0] = this->blobs_[kConvWeights]->count(1) * group_;
}

template <typename Dtype>
kernels::Convolution BaseConvolutionLayer<Dtype>::Problem(int images) const {
  kernels::Convolution conv;
  conv.images = images;
  conv.channels = reversed_ ? num_output_ : channels_;
  conv.num_output = reversed_ ? channels_ : num_output_;
  conv.group = group_;
  conv.force_nd = force_nd_im2col_;
  conv.own_kernels = this->layer_param_.convolution_param().engine() == ConvolutionParameter::CAFFE;
  conv.window.axes = num_spatial_axes_;
  conv.window.channels = conv.channels / group_;
  for (int i = 0; i < num_spatial_axes_; ++i) {
    conv.window.image[i] = conv_input_shape_.cpu_data()[1 + i];
    conv.window.output[i] = col_buffer_shape_[1 + i];
    conv.window.kernel[i] = kernel_shape_.cpu_data()[i];
    conv.window.pad[i] = pad_.cpu_data()[i];
    conv.window.stride[i] = stride_.cpu_data()[i];
    conv.window.dilation[i] = dilation_.cpu_data()[i];
  }
  return conv;
}

template <typename Dtype>
kernels::Convolution BaseConvolutionLayer<Dtype>::Problem(const Blob<Dtype>& bottom,
                                                          const Blob<Dtype>& top) const {
  kernels::Convolution conv = Problem(num_);
  conv.x_block = (reversed_ ? top : bottom).channel_block();
  conv.y_block = (reversed_ ? bottom : top).channel_block();
  return conv;
}

template <typename Dtype>
MemoryTraits BaseConvolutionLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top,
                                                 const vector<bool>& propagate_down) const {
  const kernels::Convolution conv = Problem(*bottom[0], *top[0]);
  const bool weights = this->param_propagate_down(kConvWeights);
  const bool bias = bias_term_ && this->param_propagate_down(kConvBias);
  const bool data =
      std::find(propagate_down.begin(), propagate_down.end(), true) != propagate_down.end();
  MemoryTraits traits;
  traits.declared = traits.capturable = true;
  traits.sliceable = channel_axis_ == 1;
  OperandVariant& forward = traits.forward;
  OperandVariant backward;
  forward.tf32 = backward.tf32 = RoundsToTf32<Dtype>(Tf32::kConvolutions);
  forward.name = "columns";
  backward.name = string("x");
  forward.reads.push_back(ParamData(kConvWeights));
  if (bias_term_) forward.reads.push_back(ParamData(kConvBias));
  if (data) backward.reads.push_back(ParamData(kConvWeights));
  for (const auto& [wanted, index] : {pair(weights, kConvWeights), pair(bias, kConvBias)}) {
    if (!wanted) continue;
    backward.reads.push_back(ParamDiff(index));
    backward.writes.push_back(ParamDiff(index));
  }
  for (int i = 0; i < static_cast<int>(bottom.size()); ++i) {
    forward.reads.push_back(BottomData(i));
    forward.writes.push_back(TopData(i));
    forward.flops += conv.Flops();
    if (weights) backward.reads.push_back(BottomData(i));
    if (weights || bias || propagate_down[i]) backward.reads.push_back(TopDiff(i));
    if (propagate_down[i]) backward.writes.push_back(BottomDiff(i));
    // All parameter gradients are computed first, so no bottom is read any more when its gradient
    // is written.
    if (weights && propagate_down[i]) backward.may_alias.emplace_back(BottomDiff(i), BottomData(i));
    backward.flops += conv.Flops() * (weights + propagate_down[i]);
  }
  const DeviceContext context = DeviceContext::Current();
  forward.algorithms = kernels::ConvolutionAlgorithms<Dtype>(
      context, conv, {reversed_ ? Pass::kBackwardData : Pass::kForward});
  vector<Pass> passes;
  if (weights) passes.push_back(Pass::kBackwardWeights);
  if (data) passes.push_back(reversed_ ? Pass::kForward : Pass::kBackwardData);
  backward.algorithms = kernels::ConvolutionAlgorithms<Dtype>(context, conv, passes);
  if (bottom.size() == 1) {
    passes.push_back(reversed_ ? Pass::kBackwardData : Pass::kForward);
    traits.exact_items = kernels::ItemsOfExactSlices<Dtype>(context, conv, passes);
  } else {
    traits.exact_items = 0;  // gradients of weights are summed over one bottom after the other
  }
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
MemoryTraits BaseConvolutionLayer<Dtype>::TraitsOfThisClass(
    const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
    const vector<bool>& propagate_down) const {
  MemoryTraits traits = BaseConvolutionLayer::Traits(bottom, top, propagate_down);
  if (bottom.size() > 1 || channel_axis_ != 1) return traits;
  vector<Pass> passes = {reversed_ ? Pass::kBackwardData : Pass::kForward};
  if (this->phase_ == TRAIN) {
    if (this->param_propagate_down(kConvWeights)) passes.push_back(Pass::kBackwardWeights);
    if (propagate_down[0]) passes.push_back(reversed_ ? Pass::kForward : Pass::kBackwardData);
  }
  const kernels::ConvolutionBlocks blocks =
      kernels::BlocksOf<Dtype>(DeviceContext::Current(), Problem(*bottom[0], *top[0]), passes);
  traits.block_wanted = blocks.size;
  traits.copies_saved = blocks.spared;
  return traits;
}

template <typename Dtype>
kernels::AlgorithmRun BaseConvolutionLayer<Dtype>::Chosen(int pass) const {
  return {this->template WorkspaceBytes<void>(), AlgorithmOf(this->algorithm(), pass)};
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                            const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  const kernels::Convolution conv = Problem(*bottom[0], *top[0]);
  const Dtype* weights = Data(context, *this->blobs_[kConvWeights]);
  const ConvWorkspace<Dtype> workspace(context, conv,
                                       reversed_ ? Pass::kBackwardData : Pass::kForward, Chosen(0));
  for (size_t i = 0; i < bottom.size(); ++i) {
    const Dtype* x = Data(context, *bottom[i]);
    Dtype* y = MutableData(context, top[i]);
    if (reversed_) {
      kernels::ConvolutionBackwardData(context, conv, x, weights, y, workspace.chosen());
    } else {
      kernels::ConvolutionForward(context, conv, x, weights, y, workspace.chosen());
    }
    if (bias_term_) {
      kernels::BiasForward(
          context, {num_, num_output_, top[i]->count(channel_axis_ + 1), top[i]->channel_block()},
          y, Data(context, *this->blobs_[kConvBias]), y);
    }
  }
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                             const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  const kernels::Convolution conv = Problem(*bottom[0], *top[0]);
  const bool weights_wanted = this->param_propagate_down(kConvWeights);
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (bias_term_ && this->param_propagate_down(kConvBias)) {
      kernels::BiasGradient(
          context, {num_, num_output_, top[i]->count(channel_axis_ + 1), top[i]->channel_block()},
          Diff(context, *top[i]), kernels::AccumulatorOf(context, this->blobs_[kConvBias].get()));
    }
    if (weights_wanted) {
      const Dtype* x = Data(context, *bottom[i]);
      const Dtype* dy = Diff(context, *top[i]);
      const ConvWorkspace<Dtype> workspace(context, conv, Pass::kBackwardWeights, Chosen(0));
      kernels::ConvolutionBackwardWeights(
          context, conv, reversed_ ? dy : x, reversed_ ? x : dy,
          kernels::AccumulatorOf(context, this->blobs_[kConvWeights].get()), workspace.chosen());
    }
  }
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (!propagate_down[i]) continue;
    const Dtype* weights = Data(context, *this->blobs_[kConvWeights]);
    const Dtype* dy = Diff(context, *top[i]);
    Dtype* dx = MutableDiff(context, bottom[i]);
    const ConvWorkspace<Dtype> workspace(
        context, conv, reversed_ ? Pass::kForward : Pass::kBackwardData, Chosen(weights_wanted));
    if (reversed_) {
      kernels::ConvolutionForward(context, conv, dy, weights, dx, workspace.chosen());
    } else {
      kernels::ConvolutionBackwardData(context, conv, dy, weights, dx, workspace.chosen());
    }
  }
}

INSTANTIATE_CLASS(BaseConvolutionLayer);

}  // namespace caffe
