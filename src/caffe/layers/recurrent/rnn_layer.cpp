#include "caffe/layers/rnn_layer.hpp"

#include "caffe/layers/derived.hpp"
#include "sequence_rule.hpp"
#include "unrolled_net.hpp"

namespace caffe {

template <typename Dtype>
MemoryTraits RNNLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down) const {
  MemoryTraits traits = Layer<Dtype>::Traits(bottom, top, propagate_down);
  traits.inherited = IsDerived(*this);
  return traits;
}

template <typename Dtype>
void RNNLayer<Dtype>::RecurrentInputBlobNames(vector<string>* names) const {
  *names = {"h_0"};
}

template <typename Dtype>
void RNNLayer<Dtype>::RecurrentOutputBlobNames(vector<string>* names) const {
  *names = {AtStep("h", this->T_)};
}

template <typename Dtype>
void RNNLayer<Dtype>::RecurrentInputShapes(vector<BlobShape>* shapes) const {
  shapes->assign(1, this->StateShape());
}

template <typename Dtype>
void RNNLayer<Dtype>::OutputBlobNames(vector<string>* names) const {
  *names = {"o"};
}

template <typename Dtype>
void RNNLayer<Dtype>::FillUnrolledNet(NetParameter* net_param) const {
  const RecurrentParameter& param = this->layer_param_.recurrent_param();
  const int outputs = static_cast<int>(param.num_output());
  UnrolledNet net(this->layer_param_, this->T_, net_param);
  vector<BlobShape> shapes;
  RecurrentInputShapes(&shapes);
  net.AddStates({"h_0"}, shapes);
  net.AddInputs("W_xh", "b_h", outputs, this->static_input_);
  for (int t = 1; t <= this->T_; ++t) {
    const string input = AtStep("h_neuron_input", t), output = AtStep("W_ho_h", t);
    net.AddStepInput(t, "W_xh", "W_hh", outputs, this->static_input_, input);
    net.Add("TanH", AtStep("h_neuron", t), {input}, {AtStep("h", t)});
    net.AddProduct(output, net.Whole(AtStep("h", t)), output, 2, outputs, "W_ho", "b_o");
    net.Add("TanH", AtStep("o_neuron", t), {output}, {AtStep("o", t)});
  }
  net.AddJoined(net.Steps("o"), "o");
}

static LayerRule RNNRule(const LayerShapes& shapes) {
  return SequenceRule(shapes, /*gates=*/1, /*top_is_hidden=*/false);
}

INSTANTIATE_CLASS(RNNLayer);
REGISTER_LAYER_CLASS(RNN);
REGISTER_LAYER_AXES(RNN, RNNRule);

}  // namespace caffe
