#ifndef CAFFE_UTIL_ARITHMETIC_RATES_HPP_
#define CAFFE_UTIL_ARITHMETIC_RATES_HPP_

namespace caffe {

/// Measured rates of a device in single precision, for a product of large matrices and a sum of
/// large vectors.
struct ArithmeticRates {
  double flops;             ///< floating point operations per second
  double tf32_flops;        ///< the same if a GPU may round to TF32; 0 on a CPU
  double memory_bandwidth;  ///< bytes of device memory read or written per second
};

/// Measures the calling thread's device, or the CPU, by Caffe::mode(). The fastest of several runs
/// counts. Temporarily takes 64 MiB of that memory, on a fast device 512 MiB. On a GPU it
/// temporarily changes library_settings(): no other thread may compute products then.
ArithmeticRates MeasureArithmetic();

}  // namespace caffe

#endif  // CAFFE_UTIL_ARITHMETIC_RATES_HPP_
