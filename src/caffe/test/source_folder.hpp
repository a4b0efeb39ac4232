#ifndef CAFFE_TEST_SOURCE_FOLDER_HPP_
#define CAFFE_TEST_SOURCE_FOLDER_HPP_

#include <cstdlib>
#include <string>

namespace caffe {

/// Where the files that tests read lie, as in the source tree: the environment's LAYRUB_SOURCE_DIR,
/// or the tree that the test was built from.
inline std::string SourceFolder() {
  const char* folder = std::getenv("LAYRUB_SOURCE_DIR");
  return folder != nullptr ? folder : LAYRUB_SOURCE_DIR;
}

}  // namespace caffe

#endif  // CAFFE_TEST_SOURCE_FOLDER_HPP_
