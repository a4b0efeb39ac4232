#include "caffe/util/library_settings.hpp"

#include "caffe/util/library_workspace.hpp"

namespace caffe {

bool ParseTf32(const std::string& text, Tf32* tf32) {
  if (text == "off" || text == "false") {
    *tf32 = Tf32::kOff;
  } else if (text == "conv") {
    *tf32 = Tf32::kConvolutions;
  } else if (text == "all" || text == "true") {
    *tf32 = Tf32::kAll;
  } else {
    return false;
  }
  return true;
}

LibrarySettings& library_settings() {
  static LibrarySettings settings;
  return settings;
}

LibraryWorkspace& library_workspace() {
  static thread_local LibraryWorkspace workspace;
  return workspace;
}

}  // namespace caffe
