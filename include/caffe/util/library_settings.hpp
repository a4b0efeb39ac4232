#ifndef CAFFE_UTIL_LIBRARY_SETTINGS_HPP_
#define CAFFE_UTIL_LIBRARY_SETTINGS_HPP_

#include <string>
#include <type_traits>

namespace caffe {

/// Which single precision factors GPU libraries may round to TF32 (10 bits of mantissa), which
/// newer GPUs multiply several times faster.
enum class Tf32 {
  kOff,
  kConvolutions,  ///< convolutions by cuDNN, as in PyTorch
  kAll            ///< also products of matrices by cuBLAS
};

/// Parses "off", "conv" or "all", and the older "false" and "true" for off and all. Returns false,
/// and leaves `*tf32` unchanged, for any other text. Thread safe.
bool ParseTf32(const std::string& text, Tf32* tf32);

/// Settings of GPU libraries for the whole process. To be set before the first net is made.
struct LibrarySettings {
  Tf32 tf32 = Tf32::kConvolutions;
  /// Measure, during planning, every algorithm of operations whose shapes were not measured on this
  /// GPU before. The results are stored (AlgorithmCache).
  bool measure = false;
};

LibrarySettings& library_settings();

/// Whether GPUs may round factors of type Dtype to TF32: with kConvolutions in cuDNN, with kAll in
/// cuBLAS.
template <typename Dtype>
bool RoundsToTf32(Tf32 what) {
  return std::is_same_v<Dtype, float> && library_settings().tf32 >= what;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_LIBRARY_SETTINGS_HPP_
