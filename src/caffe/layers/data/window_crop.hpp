#ifndef CAFFE_LAYERS_DATA_WINDOW_CROP_HPP_
#define CAFFE_LAYERS_DATA_WINDOW_CROP_HPP_

#include <algorithm>
#include <cmath>

namespace caffe {

/// How the pixels first..last along one axis of an image map to a crop of that axis.
struct WindowSpan {
  int begin = 0, length = 0;  ///< the pixels that are in the image
  int before = 0, after = 0;  ///< pixels of the crop beyond either end of the image
  int warped = 0;             ///< pixels of the crop that show the `length` pixels
};

/// The span of pixels first..last of an image of `size` pixels when all of them, also those beyond
/// the image, are warped to `crop` pixels.
template <typename Dtype>
WindowSpan SpanOf(int first, int last, int size, int crop) {
  const int all = last - first + 1;
  const int below = std::max(0, -first), above = std::max(0, last - size + 1);
  const Dtype scale = static_cast<Dtype>(crop) / static_cast<Dtype>(all);
  const auto scaled = [scale](int pixels) { return static_cast<int>(std::round(pixels * scale)); };
  const int inside = all - below - above;
  return {first + below, inside, scaled(below), scaled(above), scaled(inside)};
}

/// The columns or rows of a window: its centre, and half of its length.
template <typename Dtype>
struct WindowReach {
  WindowReach(int first, int last)
      : half((last - first + 1) / static_cast<Dtype>(2)), centre(first + half) {}
  /// The first and the last pixel of the window grown by `factor`.
  int First(Dtype factor) const { return static_cast<int>(std::round(centre - half * factor)); }
  int Last(Dtype factor) const { return static_cast<int>(std::round(centre + half * factor)); }

  Dtype half, centre;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_WINDOW_CROP_HPP_
