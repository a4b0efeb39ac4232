#include "caffe/layers/infogain_loss_layer.hpp"

#include <numeric>

#include "caffe/kernels/loss/infogain_loss.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/util/io.hpp"

namespace caffe {

template <typename Dtype>
void InfogainLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  if (bottom.size() < 3) {
    const InfogainLossParameter& infogain = this->layer_param_.infogain_loss_param();
    CHECK(infogain.has_source()) << "Layer " << this->layer_param_.name()
                                 << ": Infogain matrix source must be specified: a third bottom or "
                                    "infogain_loss_param { source }.";
    BlobProto stored;
    ReadProtoFromBinaryFileOrDie(infogain.source(), &stored);
    infogain_.FromProto(stored);
  }
  SoftmaxScoresLossLayer<Dtype>::LayerSetUp(bottom, top);
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  SoftmaxScoresLossLayer<Dtype>::Reshape(bottom, top);
  num_labels_ = bottom[0]->shape(infogain_axis_);
  CHECK_EQ(int64_t{num_labels_} * num_labels_, Gain(bottom).count())
      << "Layer " << this->layer_param_.name() << ": " << num_labels_
      << " classes need an infogain matrix of as many rows and columns; its shape is "
      << Gain(bottom).shape_string() << ".";
  if (!IsDerived(*this)) return;
  sum_rows_H_.Reshape({num_labels_});
  if (bottom.size() < 3) sum_rows_of_H(&infogain_);
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::sum_rows_of_H(const Blob<Dtype>* H) {
  CHECK_EQ(H->count(), int64_t{num_labels_} * num_labels_)
      << "Layer " << this->layer_param_.name() << ": H must be a matrix of one row and one column "
      << "for each class; its shape is " << H->shape_string() << ".";
  const Dtype* row = H->cpu_data();
  Dtype* const sums = sum_rows_H_.mutable_cpu_data();
  for (int label = 0; label < num_labels_; ++label, row += num_labels_) {
    sums[label] = std::accumulate(row, row + num_labels_, Dtype(0));
  }
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  SoftmaxScoresLossLayer<Dtype>::ForwardOn(context, bottom, top);
  if (IsDerived(*this) && bottom.size() > 2) sum_rows_of_H(bottom[2]);
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  this->CheckNoTargetGradient(propagate_down);
  CHECK(bottom.size() < 3 || !propagate_down[2])
      << "Layer " << this->layer_param_.name() << " (" << this->type()
      << ") cannot backpropagate to infogain inputs.";
  SoftmaxScoresLossLayer<Dtype>::BackwardOn(context, top, propagate_down, bottom);
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::Losses(const LabelledScores<Dtype>& scores, Dtype* losses) {
  const auto& [context, shape, bottom, labels, prob] = scores;
  kernels::InfogainLosses(context, shape, static_cast<Dtype>(kLOG_THRESHOLD),
                          Data(context, *bottom[0]), prob, labels, Data(context, Gain(bottom)),
                          losses);
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::Gradient(const LabelledScores<Dtype>& scores,
                                        const kernels::LossScale<Dtype>& scale, Dtype* dx) {
  const auto& [context, shape, bottom, labels, prob] = scores;
  kernels::InfogainLossBackward(context, shape, prob, labels, Data(context, Gain(bottom)), scale,
                                dx);
}

INSTANTIATE_CLASS(InfogainLossLayer);
REGISTER_LAYER_CLASS(InfogainLoss);
REGISTER_NO_LAYER_AXES(InfogainLoss, "a loss is normalized over the whole batch");

}  // namespace caffe
