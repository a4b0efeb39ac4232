#ifndef CAFFE_UTIL_IMAGE_LIST_HPP_
#define CAFFE_UTIL_IMAGE_LIST_HPP_

#include <string>
#include <vector>

#include "caffe/common.hpp"

namespace caffe {

/// A line "path label" of an image list.
struct ListedImage {
  string path;
  int label = 0;
  int line = 0;  ///< counted from 1
};

/// Reads the text file `source`. A label is what follows the last blank of its line, so that a path
/// may hold blanks; a line without a blank has label 0. Empty lines are left out. Aborts where the
/// file cannot be read, names no image or has a label that is no integer; `what` begins the
/// message: "Layer data: ".
vector<ListedImage> ReadImageList(const string& source, const string& what);

/// The same of lines "image label" whose labels are images, too: these come to `labels`, and the
/// label of an image is the index of its own there. Paths have no blanks.
vector<ListedImage> ReadImagePairs(const string& source, const string& what,
                                   vector<string>* labels);

}  // namespace caffe

#endif  // CAFFE_UTIL_IMAGE_LIST_HPP_
