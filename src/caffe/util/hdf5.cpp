#ifdef USE_HDF5
#include "caffe/util/hdf5.hpp"

#include <climits>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "caffe/util/checksum.hpp"
#include "layrub/base/input.hpp"

namespace caffe {

namespace {

// Turns off HDF5's error output while this object exists: HDF5 prints an error stack for every
// failure, but the messages here are sufficient.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

constexpr size_t kLongestString = 1 << 16;
/// A dataset of up to kAlwaysRead bytes is always read. A larger one must not be more than
/// kBestPacking times as large as its file, which is the best ratio of deflate.
constexpr double kAlwaysRead = 64 << 20, kBestPacking = 1032;

struct DatasetInfo {
  std::vector<hsize_t> dims;
  H5T_class_t type;
  size_t type_size;
};

DatasetInfo Describe(hid_t loc_id, const char* name) {
  CHECK(H5LTpath_valid(loc_id, name, 1) > 0) << "Failed to find HDF5 dataset " << name;
  int axes = 0;
  CHECK_GE(H5LTget_dataset_ndims(loc_id, name, &axes), 0)
      << "Failed to read the axes of HDF5 dataset " << name;
  DatasetInfo info;
  info.dims.resize(axes);
  CHECK_GE(H5LTget_dataset_info(loc_id, name, info.dims.data(), &info.type, &info.type_size), 0)
      << "Failed to read the shape of HDF5 dataset " << name;
  return info;
}

// Aborts if the dataset's declared size cannot be in the file. Data in external files is not
// checked.
void CheckStored(hid_t loc_id, const char* name, int64_t count, size_t type_size) {
  const double bytes = static_cast<double>(count) * static_cast<double>(type_size);
  if (bytes <= kAlwaysRead) return;
  const string what = string("HDF5 dataset ") + name;
  const Hdf5Handle dataset(H5Dopen2(loc_id, name, H5P_DEFAULT), H5Dclose, what);
  const Hdf5Handle layout(H5Dget_create_plist(dataset.id()), H5Pclose, what);
  if (H5Pget_layout(layout.id()) == H5D_VIRTUAL || H5Pget_external_count(layout.id()) > 0) return;
  const Hdf5Handle file(H5Iget_file_id(dataset.id()), H5Fclose, what);
  hsize_t size = 0;
  CHECK_GE(H5Fget_filesize(file.id(), &size), 0)
      << "Failed to read the size of the file of " << what;
  CHECK_LE(bytes, kBestPacking * static_cast<double>(size))
      << what << " is damaged: it promises " << count << " values of " << type_size
      << " bytes in a file of " << size;
}

// Returns the dataset's shape. Checks that the sizes and their product fit in a blob and can be in
// the file.
std::vector<int> ShapeOf(hid_t loc_id, const char* name, const DatasetInfo& info) {
  std::vector<int> shape;
  int64_t count = 1;
  for (const hsize_t dim : info.dims) {
    CHECK_LE(dim, static_cast<hsize_t>(INT_MAX))
        << "HDF5 dataset " << name << " is larger than a blob can be";
    count *= static_cast<int64_t>(dim);
    CHECK_LE(count, INT_MAX) << "HDF5 dataset " << name << " is larger than a blob can be";
    shape.push_back(static_cast<int>(dim));
  }
  CheckStored(loc_id, name, count, info.type_size);
  return shape;
}

// Whether the strings have variable length. Reading them gives pointers.
bool HoldsPointers(hid_t loc_id, const char* name) {
  const hid_t dataset = H5Dopen2(loc_id, name, H5P_DEFAULT);
  const hid_t type = H5Dget_type(dataset);
  const bool fixed = H5Tis_variable_str(type) == 0;
  H5Tclose(type);
  H5Dclose(dataset);
  return !fixed;
}

string ShapeText(const std::vector<int>& shape) {
  ostringstream text;
  for (const int dim : shape) text << dim << " ";
  return text.str();
}

// Writes no time stamp, so that equal values give equal files.
void MakeDataset(hid_t loc_id, const string& name, hid_t type, const std::vector<hsize_t>& dims,
                 const void* values) {
  const QuietHdf5 quiet;
  const string what = "HDF5 dataset " + name + " to write it";
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, what);
  H5Pset_obj_track_times(properties.id(), false);
  const Hdf5Handle space(
      dims.empty() ? H5Screate(H5S_SCALAR)
                   : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
      H5Sclose, what);
  const Hdf5Handle dataset(
      H5Dcreate2(loc_id, name.c_str(), type, space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
      H5Dclose, what);
  CHECK_GE(H5Dwrite(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0)
      << "Failed to write HDF5 dataset " << name;
}

hid_t NativeType(float) { return H5T_NATIVE_FLOAT; }
hid_t NativeType(double) { return H5T_NATIVE_DOUBLE; }

}  // namespace

hid_t hdf5_open_file(const string& filename, const string& what) {
  std::error_code unknown;  // for example, the name is too long
  const std::filesystem::file_status status = std::filesystem::status(filename, unknown);
  CHECK(std::filesystem::exists(status)) << what << layrub::FileNotFound(filename);
  CHECK(std::filesystem::is_regular_file(status))
      << what << "Cannot read " << filename << ": it is no regular file";
  const QuietHdf5 quiet;
  const hid_t file = H5Fopen(filename.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0) << what << filename << " is no HDF5 file, or damaged.";
  return file;
}

template <typename Dtype>
void hdf5_load_nd_dataset_helper(hid_t file_id, const char* dataset_name_, int min_dim, int max_dim,
                                 Blob<Dtype>* blob, bool reshape) {
  const QuietHdf5 quiet;
  const DatasetInfo info = Describe(file_id, dataset_name_);
  const int axes = static_cast<int>(info.dims.size());
  CHECK_GE(axes, min_dim) << "HDF5 dataset " << dataset_name_ << " has too few axes";
  CHECK_LE(axes, max_dim) << "HDF5 dataset " << dataset_name_ << " has too many axes";
  CHECK(info.type == H5T_FLOAT || info.type == H5T_INTEGER)
      << "HDF5 dataset " << dataset_name_ << " holds no numbers (HDF5 type class " << info.type
      << ")";
  CHECK_LE(info.type_size, sizeof(long double))
      << "HDF5 dataset " << dataset_name_ << " holds numbers of " << info.type_size << " bytes";
  const std::vector<int> shape = ShapeOf(file_id, dataset_name_, info);
  if (reshape) {
    blob->Reshape(shape);
  } else {
    CHECK(shape == blob->shape()) << "HDF5 dataset " << dataset_name_ << " has shape "
                                  << ShapeText(shape) << "where the blob has "
                                  << blob->shape_string();
  }
}

template <typename Dtype>
void hdf5_load_nd_dataset(hid_t file_id, const char* dataset_name_, int min_dim, int max_dim,
                          Blob<Dtype>* blob, bool reshape) {
  hdf5_load_nd_dataset_helper(file_id, dataset_name_, min_dim, max_dim, blob, reshape);
  const QuietHdf5 quiet;
  CHECK_GE(H5LTread_dataset(file_id, dataset_name_, NativeType(Dtype()), blob->mutable_cpu_data()),
           0)
      << "Failed to read HDF5 dataset " << dataset_name_;
}

template <typename Dtype>
void hdf5_save_nd_dataset(const hid_t file_id, const string& dataset_name, const Blob<Dtype>& blob,
                          bool write_diff) {
  const std::vector<hsize_t> dims(blob.shape().begin(), blob.shape().end());
  MakeDataset(file_id, dataset_name, NativeType(Dtype()), dims,
              write_diff ? blob.cpu_diff() : blob.cpu_data());
}

string hdf5_load_string(hid_t loc_id, const string& dataset_name) {
  const QuietHdf5 quiet;
  const DatasetInfo info = Describe(loc_id, dataset_name.c_str());
  CHECK_EQ(info.type, H5T_STRING) << "HDF5 dataset " << dataset_name << " holds no string";
  const std::vector<int> shape = ShapeOf(loc_id, dataset_name.c_str(), info);
  CHECK((shape.empty() || shape == std::vector<int>{1}) &&
        !HoldsPointers(loc_id, dataset_name.c_str()) && info.type_size <= kLongestString)
      << "HDF5 dataset " << dataset_name << " is not one string of at most " << kLongestString
      << " bytes";
  string text(info.type_size + 1, '\0');
  CHECK_GE(H5LTread_dataset_string(loc_id, dataset_name.c_str(), text.data()), 0)
      << "Failed to read HDF5 dataset " << dataset_name;
  return text.c_str();  // without the terminator, which is part of the dataset
}

void hdf5_save_string(hid_t loc_id, const string& dataset_name, const string& s) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "the type of HDF5 strings");
  H5Tset_size(type.id(), s.size() + 1);
  MakeDataset(loc_id, dataset_name, type.id(), {}, s.c_str());
}

string hdf5_load_bytes(hid_t loc_id, const string& dataset_name) {
  const QuietHdf5 quiet;
  const DatasetInfo info = Describe(loc_id, dataset_name.c_str());
  CHECK(info.type == H5T_INTEGER && info.type_size == 1 && info.dims.size() == 1)
      << "HDF5 dataset " << dataset_name << " holds no bytes";
  string bytes(ShapeOf(loc_id, dataset_name.c_str(), info)[0], '\0');
  CHECK_GE(H5LTread_dataset(loc_id, dataset_name.c_str(), H5T_NATIVE_UCHAR, bytes.data()), 0)
      << "Failed to read HDF5 dataset " << dataset_name;
  return bytes;
}

void hdf5_save_bytes(hid_t loc_id, const string& dataset_name, const string& bytes) {
  MakeDataset(loc_id, dataset_name, H5T_NATIVE_UCHAR, {bytes.size()}, bytes.data());
}

bool hdf5_has(hid_t loc_id, const string& name) {
  const QuietHdf5 quiet;
  return H5Lexists(loc_id, name.c_str(), H5P_DEFAULT) > 0;
}

namespace {

template <typename Dtype>
uint32_t Crc32OfValues(hid_t loc_id, const string& dataset_name, int64_t count, uint32_t crc) {
  std::vector<Dtype> values(static_cast<size_t>(count));
  CHECK_GE(H5LTread_dataset(loc_id, dataset_name.c_str(), NativeType(Dtype()), values.data()), 0)
      << "Failed to read HDF5 dataset " << dataset_name;
  return Crc32(crc, values.data(), values.size() * sizeof(Dtype));
}

}  // namespace

vector<int> hdf5_shape(hid_t loc_id, const string& dataset_name) {
  const QuietHdf5 quiet;
  return ShapeOf(loc_id, dataset_name.c_str(), Describe(loc_id, dataset_name.c_str()));
}

uint32_t hdf5_crc32(hid_t loc_id, const string& dataset_name, uint32_t crc) {
  const QuietHdf5 quiet;
  const DatasetInfo info = Describe(loc_id, dataset_name.c_str());
  int64_t count = 1;
  for (const int dim : ShapeOf(loc_id, dataset_name.c_str(), info)) count *= dim;
  return info.type_size == sizeof(double) ? Crc32OfValues<double>(loc_id, dataset_name, count, crc)
                                          : Crc32OfValues<float>(loc_id, dataset_name, count, crc);
}

string hdf5_escape(const string& name) {
  if (name == ".") return "%2E";
  if (name.find('/') == string::npos && hdf5_unescape(name) == name) return name;
  string escaped;
  for (const char c : name) escaped += c == '/' ? "%2F" : c == '%' ? "%25" : string(1, c);
  return escaped;
}

string hdf5_unescape(const string& name) {
  string plain;
  for (size_t i = 0; i < name.size(); ++i) {
    const string code = name.substr(i, 3);
    const char* const meant = code == "%2F"   ? "/"
                              : code == "%25" ? "%"
                              : code == "%2E" ? "."
                                              : nullptr;
    plain += meant ? *meant : name[i];
    if (meant) i += 2;
  }
  return plain;
}

int hdf5_load_int(hid_t loc_id, const string& dataset_name) {
  const QuietHdf5 quiet;
  const DatasetInfo info = Describe(loc_id, dataset_name.c_str());
  const std::vector<int> shape = ShapeOf(loc_id, dataset_name.c_str(), info);
  CHECK(info.type == H5T_INTEGER && (shape.empty() || shape == std::vector<int>{1}))
      << "HDF5 dataset " << dataset_name << " is not one integer";
  int64_t value = 0;
  CHECK_GE(H5LTread_dataset(loc_id, dataset_name.c_str(), H5T_NATIVE_INT64, &value), 0)
      << "Failed to read HDF5 dataset " << dataset_name;
  CHECK(value >= INT_MIN && value <= INT_MAX)
      << "HDF5 dataset " << dataset_name << " holds " << value << ", which is too large";
  return static_cast<int>(value);
}

void hdf5_save_int(hid_t loc_id, const string& dataset_name, int i) {
  MakeDataset(loc_id, dataset_name, H5T_NATIVE_INT, {1}, &i);
}

int hdf5_get_num_links(hid_t loc_id) {
  const QuietHdf5 quiet;
  H5G_info_t info;
  CHECK_GE(H5Gget_info(loc_id, &info), 0) << "Failed to read an HDF5 group";
  return static_cast<int>(info.nlinks);
}

string hdf5_get_name_by_idx(hid_t loc_id, int idx) {
  const QuietHdf5 quiet;
  const auto read = [loc_id, idx](char* text, size_t size) {
    return H5Lget_name_by_idx(loc_id, ".", H5_INDEX_NAME, H5_ITER_INC, idx, text, size,
                              H5P_DEFAULT);
  };
  const ssize_t length = read(nullptr, 0);
  CHECK_GE(length, 0) << "Failed to read the name of member " << idx << " of an HDF5 group";
  string name(static_cast<size_t>(length) + 1, '\0');
  CHECK_GE(read(name.data(), name.size()), 0)
      << "Failed to read the name of member " << idx << " of an HDF5 group";
  name.pop_back();
  return name;
}

#define INSTANTIATE(Dtype)                                                                     \
  template void hdf5_load_nd_dataset_helper<Dtype>(hid_t, const char*, int, int, Blob<Dtype>*, \
                                                   bool);                                      \
  template void hdf5_load_nd_dataset<Dtype>(hid_t, const char*, int, int, Blob<Dtype>*, bool); \
  template void hdf5_save_nd_dataset<Dtype>(const hid_t, const string&, const Blob<Dtype>&, bool)

INSTANTIATE(float);
INSTANTIATE(double);

}  // namespace caffe
#endif  // USE_HDF5
