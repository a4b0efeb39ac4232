// A layer of one's own in a net of one's own:
//   softsign          on the CPU
//   softsign GPU_ID   on a GPU
// prints x, y and dy/dx for a few x, and exits with 1 if they are not what they should be.
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "layrub/base/standard_streams.hpp"
#include "softsign_layer.hpp"

namespace caffe {

template <typename Dtype>
void SoftsignLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const Dtype* x = bottom[0]->cpu_data();
  Dtype* y = top[0]->mutable_cpu_data();
  for (int i = 0; i < bottom[0]->count(); ++i) y[i] = x[i] / (1 + std::abs(x[i]));
}

template <typename Dtype>
void SoftsignLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down,
                                        const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* dy = top[0]->cpu_diff();
  Dtype* dx = bottom[0]->mutable_cpu_diff();
  for (int i = 0; i < bottom[0]->count(); ++i) {
    const Dtype divisor = 1 + std::abs(x[i]);
    dx[i] = dy[i] / (divisor * divisor);
  }
}

#ifdef CPU_ONLY
STUB_GPU(SoftsignLayer);
#endif

INSTANTIATE_CLASS(SoftsignLayer);
REGISTER_LAYER_CLASS(Softsign);

}  // namespace caffe

namespace {

constexpr int kCount = 9;

/// A net of an Input and the layer.
caffe::NetParameter Model() {
  caffe::NetParameter model;
  model.set_name("softsign");
  model.set_force_backward(true);
  caffe::LayerParameter* input = model.add_layer();
  input->set_name("x");
  input->set_type("Input");
  input->add_top("x");
  input->mutable_input_param()->add_shape()->add_dim(kCount);
  caffe::LayerParameter* layer = model.add_layer();
  layer->set_name("y");
  layer->set_type("Softsign");
  layer->add_bottom("x");
  layer->add_top("y");
  model.mutable_state()->set_phase(caffe::TRAIN);
  return model;
}

}  // namespace

int main(int argc, char** argv) {
  layrub::GuardStandardStreams("softsign");
  caffe::GlobalInit(&argc, &argv);
  if (argc > 1) {
    caffe::Caffe::SetDevice(std::atoi(argv[1]));
    caffe::Caffe::set_mode(caffe::Caffe::GPU);
  }
  caffe::Net<float> net(Model());
  caffe::Blob<float>& x = *net.blob_by_name("x");
  caffe::Blob<float>& y = *net.blob_by_name("y");
  for (int i = 0; i < kCount; ++i) {
    x.mutable_cpu_data()[i] = static_cast<float>(i - kCount / 2);
    y.mutable_cpu_diff()[i] = 1;
  }
  net.Forward();
  net.Backward();
  bool right = true;
  for (int i = 0; i < kCount; ++i) {
    const float at = x.cpu_data()[i], value = y.cpu_data()[i], slope = x.cpu_diff()[i];
    const float divisor = 1 + std::abs(at);
    right &= std::abs(value - at / divisor) < 1e-6f;
    right &= std::abs(slope - 1 / (divisor * divisor)) < 1e-6f;
    std::cout << at << '\t' << value << '\t' << slope << '\n';
  }
  return right ? 0 : 1;
}
