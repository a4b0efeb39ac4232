#ifdef USE_HDF5

#include "caffe/test/golden_file.hpp"

#include <glog/logging.h>

#include <cstring>

namespace caffe {

GoldenFile::GoldenFile(const std::string& path)
    : path_(path), file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
  CHECK_GE(file_, 0) << path << " is not a readable HDF5 file.";
}

GoldenFile::~GoldenFile() { H5Fclose(file_); }

std::vector<std::string> GoldenFile::Names(const std::string& group) const {
  std::vector<std::string> names;
  if (H5Lexists(file_, group.c_str(), H5P_DEFAULT) <= 0) return names;
  const hid_t id = H5Gopen2(file_, group.c_str(), H5P_DEFAULT);
  CHECK_GE(id, 0) << path_ << ": " << group << " is not a group.";
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  CHECK_GE(H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), 0)
      << path_ << ": " << group;
  H5Gclose(id);
  return names;
}

GoldenTensor GoldenFile::Read(const std::string& dataset) const {
  const hid_t id = H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT);
  CHECK_GE(id, 0) << path_ << ": no dataset " << dataset;
  const hid_t space = H5Dget_space(id);
  std::vector<hsize_t> dims(H5Sget_simple_extent_ndims(space));
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  GoldenTensor tensor;
  tensor.shape.assign(dims.begin(), dims.end());
  tensor.values.resize(H5Sget_simple_extent_npoints(space));
  CHECK_GE(H5Dread(id, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.values.data()), 0)
      << path_ << ": cannot read " << dataset;
  H5Sclose(space);
  H5Dclose(id);
  return tensor;
}

std::string GoldenFile::Text(const std::string& attribute, const std::string& fallback) const {
  if (H5Aexists(file_, attribute.c_str()) <= 0) return fallback;
  const hid_t id = H5Aopen(file_, attribute.c_str(), H5P_DEFAULT);
  const hid_t type = H5Aget_type(id);
  std::string text;
  if (H5Tis_variable_str(type) > 0) {
    char* value = nullptr;
    CHECK_GE(H5Aread(id, type, &value), 0) << path_ << ": cannot read attribute " << attribute;
    text = value;
    H5free_memory(value);
  } else {
    std::string buffer(H5Tget_size(type) + 1, '\0');
    CHECK_GE(H5Aread(id, type, buffer.data()), 0)
        << path_ << ": cannot read attribute " << attribute;
    text = buffer.c_str();
  }
  H5Tclose(type);
  H5Aclose(id);
  return text;
}

int GoldenFile::Number(const std::string& attribute, int fallback) const {
  if (H5Aexists(file_, attribute.c_str()) <= 0) return fallback;
  const hid_t id = H5Aopen(file_, attribute.c_str(), H5P_DEFAULT);
  const hid_t type = H5Aget_type(id);
  int value = 0;
  if (H5Tget_class(type) == H5T_ENUM) {
    // Booleans are stored as one-byte enumerations.
    int8_t flag = 0;
    CHECK_EQ(H5Tget_size(type), sizeof(flag)) << path_ << ": attribute " << attribute;
    CHECK_GE(H5Aread(id, type, &flag), 0) << path_ << ": cannot read attribute " << attribute;
    value = flag;
  } else {
    CHECK_GE(H5Aread(id, H5T_NATIVE_INT, &value), 0)
        << path_ << ": cannot read attribute " << attribute;
  }
  H5Tclose(type);
  H5Aclose(id);
  return value;
}

}  // namespace caffe

#endif  // USE_HDF5
