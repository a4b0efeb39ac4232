#ifndef CAFFE_TEST_SOURCE_FOLDER_HPP_
#define CAFFE_TEST_SOURCE_FOLDER_HPP_

#include <cstdlib>
#include <string>

namespace caffe {

/// Returns the folder with the files that tests read, laid out like the source tree: the
/// environment variable LAYRUB_SOURCE_DIR, or the tree that the test was built from.
inline std::string SourceFolder() {
  const char* folder = std::getenv("LAYRUB_SOURCE_DIR");
  return folder != nullptr ? folder : LAYRUB_SOURCE_DIR;
}

}  // namespace caffe

#endif  // CAFFE_TEST_SOURCE_FOLDER_HPP_
