#ifndef CAFFE_UTIL_LIBRARY_SETTINGS_HPP_
#define CAFFE_UTIL_LIBRARY_SETTINGS_HPP_

#include <string>
#include <type_traits>

namespace caffe {

/// What libraries for GPUs may round, as they multiply single precision numbers, to TF32 (10 bits
/// of mantissa), which newer GPUs multiply several times as fast.
enum class Tf32 {
  kOff,
  kConvolutions,  ///< what cuDNN convolves, as in PyTorch
  kAll            ///< products of matrices by cuBLAS besides
};

/// "off", "conv" or "all"; also "false" and "true", which once meant off and all. False, and
/// `*tf32` untouched, for any other text. Thread safe.
bool ParseTf32(const std::string& text, Tf32* tf32);

/// What libraries for GPUs may do, in the whole process. To be set before the first net is made.
struct LibrarySettings {
  Tf32 tf32 = Tf32::kConvolutions;
  /// Operations that the library has algorithms for, of shapes that were not measured on this GPU
  /// before, are measured when they are planned, in every algorithm; what is found is kept
  /// (AlgorithmCache).
  bool measure = false;
};

LibrarySettings& library_settings();

/// Whether GPUs may round to TF32 what they multiply of this type: kConvolutions asks for what
/// cuDNN does, kAll for what cuBLAS does.
template <typename Dtype>
bool RoundsToTf32(Tf32 what) {
  return std::is_same_v<Dtype, float> && library_settings().tf32 >= what;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_LIBRARY_SETTINGS_HPP_
