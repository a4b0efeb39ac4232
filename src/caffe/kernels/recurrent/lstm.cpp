#include "caffe/kernels/recurrent/lstm.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

namespace {

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Sigmoid(Dtype x) {
  return 1 / (1 + std::exp(-x));
}

/// The activations of one cell.
template <typename Dtype>
struct Gates {
  Dtype input, forget, output, candidate;
};

template <typename Dtype>
LAYRUB_HOST_DEVICE Gates<Dtype> Activate(const Dtype* x, int64_t width) {
  return {Sigmoid(x[0]), Sigmoid(x[width]), Sigmoid(x[2 * width]), std::tanh(x[3 * width])};
}

}  // namespace

template <typename Dtype>
void LstmForward(const DeviceContext& context, int64_t streams, int64_t width, const Dtype* c_prev,
                 const Dtype* gates, const Dtype* cont, Dtype* c, Dtype* h) {
  ParallelFor(context, streams * width, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const int64_t stream = i / width;
    const Gates<Dtype> gate = Activate(gates + i + 3 * stream * width, width);
    // At the start of a sequence the old value is ignored, even if it is not finite.
    const Dtype kept = cont[stream] == 0 ? Dtype(0) : cont[stream] * gate.forget * c_prev[i];
    const Dtype cell = kept + gate.input * gate.candidate;
    c[i] = cell;
    h[i] = gate.output * std::tanh(cell);
  });
}

template <typename Dtype>
void LstmBackward(const DeviceContext& context, int64_t streams, int64_t width, const Dtype* c_prev,
                  const Dtype* gates, const Dtype* cont, const Dtype* c, const Dtype* dc,
                  const Dtype* dh, Dtype* dc_prev, Dtype* dgates) {
  ParallelFor(context, streams * width, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const int64_t stream = i / width;
    const int64_t first = i + 3 * stream * width;
    const Gates<Dtype> gate = Activate(gates + first, width);
    const Dtype tanh_c = std::tanh(c[i]);
    const Dtype d_output = dh[i];
    const Dtype d_cell = dc[i] + d_output * gate.output * (1 - tanh_c * tanh_c);
    const bool begins = cont[stream] == 0;
    const Dtype d_kept = begins ? Dtype(0) : cont[stream] * d_cell;
    if (dgates != nullptr) {
      const Dtype d_forget = begins ? Dtype(0) : d_kept * c_prev[i];
      dgates[first] = d_cell * gate.candidate * gate.input * (1 - gate.input);
      dgates[first + width] = d_forget * gate.forget * (1 - gate.forget);
      dgates[first + 2 * width] = d_output * tanh_c * gate.output * (1 - gate.output);
      dgates[first + 3 * width] = d_cell * gate.input * (1 - gate.candidate * gate.candidate);
    }
    if (dc_prev != nullptr) dc_prev[i] = d_kept * gate.forget;
  });
}

#define INSTANTIATE(Dtype)                                                                  \
  template void LstmForward<Dtype>(const DeviceContext&, int64_t, int64_t, const Dtype*,    \
                                   const Dtype*, const Dtype*, Dtype*, Dtype*);             \
  template void LstmBackward<Dtype>(const DeviceContext&, int64_t, int64_t, const Dtype*,   \
                                    const Dtype*, const Dtype*, const Dtype*, const Dtype*, \
                                    const Dtype*, Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
