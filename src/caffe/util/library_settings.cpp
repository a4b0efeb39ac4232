#include "caffe/util/library_settings.hpp"

namespace caffe {

LibrarySettings& library_settings() {
  static LibrarySettings settings;
  return settings;
}

}  // namespace caffe
