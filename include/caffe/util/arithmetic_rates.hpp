#ifndef CAFFE_UTIL_ARITHMETIC_RATES_HPP_
#define CAFFE_UTIL_ARITHMETIC_RATES_HPP_

namespace caffe {

/// What a device reaches in single precision: in a product of large matrices, and in a sum of large
/// vectors.
struct ArithmeticRates {
  double flops;             ///< floating point operations per second
  double tf32_flops;        ///< the same where a GPU may round to TF32; 0 on a CPU
  double memory_bandwidth;  ///< bytes per second of the device's memory, read or written
};

/// Measures the calling thread's device, or the CPU, as Caffe::mode() says; the fastest of several
/// runs counts. Takes 64 MiB of the mode's memory for a while, of a fast device 512 MiB. On a GPU
/// it changes library_settings() for that while: no other thread may multiply then.
ArithmeticRates MeasureArithmetic();

}  // namespace caffe

#endif  // CAFFE_UTIL_ARITHMETIC_RATES_HPP_
