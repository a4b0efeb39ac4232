#include "caffe/util/library_settings.hpp"

#include "caffe/util/library_workspace.hpp"

namespace caffe {

LibrarySettings& library_settings() {
  static LibrarySettings settings;
  return settings;
}

LibraryWorkspace& library_workspace() {
  static thread_local LibraryWorkspace workspace;
  return workspace;
}

}  // namespace caffe
