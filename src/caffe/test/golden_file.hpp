#ifndef CAFFE_TEST_GOLDEN_FILE_HPP_
#define CAFFE_TEST_GOLDEN_FILE_HPP_

#include <hdf5.h>

#include <string>
#include <vector>

namespace caffe {

/// An array of a reference file. A scalar has no dimensions.
struct GoldenTensor {
  std::vector<int> shape;
  std::vector<float> values;
};

/// A reference file (HDF5), opened for reading. Aborts with the path if something is missing or not
/// readable.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& path);
  ~GoldenFile();
  GoldenFile(const GoldenFile&) = delete;
  GoldenFile& operator=(const GoldenFile&) = delete;

  /// Returns the sorted names in a group; none if the group does not exist.
  std::vector<std::string> Names(const std::string& group) const;
  GoldenTensor Read(const std::string& dataset) const;
  // Return an attribute of the file, or `fallback` if the file lacks it.
  std::string Text(const std::string& attribute, const std::string& fallback) const;
  int Number(const std::string& attribute, int fallback) const;

 private:
  std::string path_;
  hid_t file_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_GOLDEN_FILE_HPP_
