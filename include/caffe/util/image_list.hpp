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

/// Reads the text file `source`. The label is the text after the last blank of a line, so a path
/// may contain blanks. A line without a blank has label 0. Empty lines are skipped. Aborts if the
/// file cannot be read, names no image or has a label that is not an integer. `what` begins the
/// message, for example "Layer data: ".
vector<ListedImage> ReadImageList(const string& source, const string& what);

/// The same for lines "image label" whose labels are images too. These paths are stored in
/// `labels`, and the label of an image is its index there. Paths must not contain blanks.
vector<ListedImage> ReadImagePairs(const string& source, const string& what,
                                   vector<string>* labels);

}  // namespace caffe

#endif  // CAFFE_UTIL_IMAGE_LIST_HPP_
