#ifndef CAFFE_TEST_GOLDEN_FILE_HPP_
#define CAFFE_TEST_GOLDEN_FILE_HPP_

#include <hdf5.h>

#include <string>
#include <vector>

namespace caffe {

/// An array of a reference file; no dimensions: a scalar.
struct GoldenTensor {
  std::vector<int> shape;
  std::vector<float> values;
};

/// A reference file (HDF5), opened for reading. Aborts with the path where something is not there
/// or not readable.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& path);
  ~GoldenFile();
  GoldenFile(const GoldenFile&) = delete;
  GoldenFile& operator=(const GoldenFile&) = delete;

  /// Names in a group, sorted; none when the group is not there.
  std::vector<std::string> Names(const std::string& group) const;
  GoldenTensor Read(const std::string& dataset) const;
  // Attributes of the file, or `fallback` when it lacks them.
  std::string Text(const std::string& attribute, const std::string& fallback) const;
  int Number(const std::string& attribute, int fallback) const;

 private:
  std::string path_;
  hid_t file_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_GOLDEN_FILE_HPP_
