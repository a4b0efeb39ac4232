#include "caffe/util/loaded_libraries.hpp"

namespace caffe {

std::vector<std::string>& LoadedLibraries() {
  static std::vector<std::string> libraries;
  return libraries;
}

}  // namespace caffe
