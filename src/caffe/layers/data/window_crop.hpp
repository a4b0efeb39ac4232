#ifndef CAFFE_LAYERS_DATA_WINDOW_CROP_HPP_
#define CAFFE_LAYERS_DATA_WINDOW_CROP_HPP_

#include <algorithm>
#include <cmath>

namespace caffe {

/// Where the pixels first..last of one axis of an image come to lie in a crop of that axis.
struct WindowSpan {
  int begin = 0, length = 0;  ///< the part of them that is in the image
  int before = 0, after = 0;  ///< how much of the crop is for what is beyond either end
  int warped = 0;             ///< how much is for `length` pixels
};

/// The span of pixels first..last, which may go beyond an image of `size` pixels, when all of them
/// are warped to `crop` pixels.
template <typename Dtype>
WindowSpan SpanOf(int first, int last, int size, int crop) {
  const int all = last - first + 1;
  const int below = std::max(0, -first), above = std::max(0, last - size + 1);
  const Dtype scale = static_cast<Dtype>(crop) / static_cast<Dtype>(all);
  const auto scaled = [scale](int pixels) { return static_cast<int>(std::round(pixels * scale)); };
  const int inside = all - below - above;
  return {first + below, inside, scaled(below), scaled(above), scaled(inside)};
}

/// A window's columns or rows: its centre and how far it reaches on either side.
template <typename Dtype>
struct WindowReach {
  WindowReach(int first, int last)
      : half((last - first + 1) / static_cast<Dtype>(2)), centre(first + half) {}
  /// The first and the last pixel of the reach, grown `factor` times.
  int First(Dtype factor) const { return static_cast<int>(std::round(centre - half * factor)); }
  int Last(Dtype factor) const { return static_cast<int>(std::round(centre + half * factor)); }

  Dtype half, centre;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_WINDOW_CROP_HPP_
