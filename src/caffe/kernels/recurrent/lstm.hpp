#ifndef CAFFE_KERNELS_RECURRENT_LSTM_HPP_
#define CAFFE_KERNELS_RECURRENT_LSTM_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// One step of `streams` LSTM cells of `width` values each (Hochreiter and Schmidhuber 1997, with
/// the forget gate of Gers et al. 2000). `gates` holds for each stream the inputs of the input,
/// forget and output gates and of the candidate, `width` values each. cont[stream] scales the part
/// of the previous cells, c_prev, that is kept:
///   c = cont * forget * c_prev + input * candidate;  h = output * tanh(c). c and h may alias
///   c_prev.
template <typename Dtype>
void LstmForward(const DeviceContext& context, int64_t streams, int64_t width, const Dtype* c_prev,
                 const Dtype* gates, const Dtype* cont, Dtype* c, Dtype* h);

/// The gradients of that; dc and dh are those of c and h. dc_prev may be null, and may alias c,
/// c_prev, dc or dh; dgates may be null (c_prev is then not read), and may alias gates.
template <typename Dtype>
void LstmBackward(const DeviceContext& context, int64_t streams, int64_t width, const Dtype* c_prev,
                  const Dtype* gates, const Dtype* cont, const Dtype* c, const Dtype* dc,
                  const Dtype* dh, Dtype* dc_prev, Dtype* dgates);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_RECURRENT_LSTM_HPP_
