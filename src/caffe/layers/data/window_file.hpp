#ifndef CAFFE_LAYERS_DATA_WINDOW_FILE_HPP_
#define CAFFE_LAYERS_DATA_WINDOW_FILE_HPP_

#include <string>
#include <vector>

#include "caffe/common.hpp"

namespace caffe {

/// A box of an image: from column x1 and row y1 to column x2 and row y2, which belong to it.
struct FileWindow {
  int label = 0;
  float overlap = 0;  ///< with the nearest object, from 0 to 1
  int x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

/// An image of a window file, and its windows.
struct WindowedImage {
  string path;
  int line = 0;  ///< of the path, counted from 1
  int channels = 0, height = 0, width = 0;
  vector<FileWindow> windows;
};

/// Reads the text file `source`, which has for each image
///
///     # index
///     path
///     channels height width
///     number of windows
///     label overlap x1 y1 x2 y2     (for each window)
///
/// with any blanks between the words; a path that begins a line is the whole line, blanks included.
/// The index is not looked at: images count from 0. Aborts where the file cannot be read or has
/// another form; `what` begins the message: "Layer data: ".
vector<WindowedImage> ReadWindowFile(const string& source, const string& what);

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_WINDOW_FILE_HPP_
