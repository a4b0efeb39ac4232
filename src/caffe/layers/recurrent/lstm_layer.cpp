#include "caffe/layers/lstm_layer.hpp"

#include "caffe/layers/derived.hpp"
#include "sequence_rule.hpp"
#include "unrolled_net.hpp"

namespace caffe {

template <typename Dtype>
MemoryTraits LSTMLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down) const {
  MemoryTraits traits = Layer<Dtype>::Traits(bottom, top, propagate_down);
  traits.inherited = IsDerived(*this);
  return traits;
}

template <typename Dtype>
void LSTMLayer<Dtype>::RecurrentInputBlobNames(vector<string>* names) const {
  *names = {"h_0", "c_0"};
}

template <typename Dtype>
void LSTMLayer<Dtype>::RecurrentOutputBlobNames(vector<string>* names) const {
  *names = {AtStep("h", this->T_), AtStep("c", this->T_)};
}

template <typename Dtype>
void LSTMLayer<Dtype>::RecurrentInputShapes(vector<BlobShape>* shapes) const {
  shapes->assign(2, this->StateShape());
}

template <typename Dtype>
void LSTMLayer<Dtype>::OutputBlobNames(vector<string>* names) const {
  *names = {"h"};
}

template <typename Dtype>
void LSTMLayer<Dtype>::FillUnrolledNet(NetParameter* net_param) const {
  const RecurrentParameter& param = this->layer_param_.recurrent_param();
  CHECK_LE(param.num_output(), INT_MAX / 4u)
      << "Layer " << this->layer_param_.name() << ": num_output is too large.";
  const int gates = 4 * static_cast<int>(param.num_output());
  UnrolledNet net(this->layer_param_, this->T_, net_param);
  vector<BlobShape> shapes;
  RecurrentInputShapes(&shapes);
  net.AddStates({"h_0", "c_0"}, shapes);
  net.AddInputs("W_xc", "b_c", gates, this->static_input_);
  for (int t = 1; t <= this->T_; ++t) {
    const string gate_input = AtStep("gate_input", t);
    net.AddStepInput(t, "W_xc", "W_hc", gates, this->static_input_, gate_input);
    net.Add("LSTMUnit", AtStep("unit", t), {AtStep("c", t - 1), gate_input, AtStep("cont", t)},
            {AtStep("c", t), AtStep("h", t)});
  }
  net.AddJoined(net.WholeSteps("h"), "h");
}

static LayerRule LSTMRule(const LayerShapes& shapes) {
  return SequenceRule(shapes, /*gates=*/4, /*top_is_hidden=*/true);
}

INSTANTIATE_CLASS(LSTMLayer);
REGISTER_LAYER_CLASS(LSTM);
REGISTER_LAYER_AXES(LSTM, LSTMRule);

}  // namespace caffe
