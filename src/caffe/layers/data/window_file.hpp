#ifndef CAFFE_LAYERS_DATA_WINDOW_FILE_HPP_
#define CAFFE_LAYERS_DATA_WINDOW_FILE_HPP_

#include <string>
#include <vector>

#include "caffe/common.hpp"

namespace caffe {

/// A box of an image: columns x1 to x2 and rows y1 to y2, inclusive.
struct FileWindow {
  int label = 0;
  float overlap = 0;  ///< overlap with the nearest object, from 0 to 1
  int x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

/// An image of a window file, and its windows.
struct WindowedImage {
  string path;
  int line = 0;  ///< line of the path, counted from 1
  int channels = 0, height = 0, width = 0;
  vector<FileWindow> windows;
};

/// Reads the text file `source`, which contains for each image
///
///     # index
///     path
///     channels height width
///     number of windows
///     label overlap x1 y1 x2 y2     (for each window)
///
/// with any blanks between the words. A path that begins a line extends to the end of the line,
/// blanks included. The index is ignored: images are counted from 0. Aborts if the file cannot be
/// read or has another format; the message begins with `what`, for example "Layer data: ".
vector<WindowedImage> ReadWindowFile(const string& source, const string& what);

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_WINDOW_FILE_HPP_
