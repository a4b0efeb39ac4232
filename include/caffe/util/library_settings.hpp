#ifndef CAFFE_UTIL_LIBRARY_SETTINGS_HPP_
#define CAFFE_UTIL_LIBRARY_SETTINGS_HPP_

namespace caffe {

/// What libraries for GPUs may do, in the whole process. To be set before the first net is made.
struct LibrarySettings {
  /// Products of single precision numbers may be rounded to TF32 (10 bits of mantissa), which newer
  /// GPUs multiply several times as fast.
  bool tf32 = false;
  /// Operations that the library has algorithms for, of shapes that were not measured on this GPU
  /// before, are measured when they are planned, in every algorithm; what is found is kept
  /// (AlgorithmCache).
  bool measure = false;
};

LibrarySettings& library_settings();

}  // namespace caffe

#endif  // CAFFE_UTIL_LIBRARY_SETTINGS_HPP_
