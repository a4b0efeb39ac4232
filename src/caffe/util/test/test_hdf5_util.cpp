#include "caffe/util/hdf5.hpp"

#include <gtest/gtest.h>

#ifdef USE_HDF5

#include <filesystem>
#include <string>
#include <vector>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/checksum.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class Hdf5 : public ::testing::Test {
 protected:
  Hdf5() {
    MakeTempFilename(&path_);
    file_ = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  }
  ~Hdf5() override {
    H5Fclose(file_);
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }

  string path_;
  hid_t file_;
};

typedef ::testing::Types<float, double> Dtypes;
TYPED_TEST_SUITE(Hdf5, Dtypes);

TYPED_TEST(Hdf5, KeepsABlobsDataAndDiff) {
  Blob<TypeParam> blob(std::vector<int>{2, 3}), data, diff;
  for (int i = 0; i < 6; ++i) {
    blob.mutable_cpu_data()[i] = TypeParam(i) / 3;
    blob.mutable_cpu_diff()[i] = -i;
  }
  hdf5_save_nd_dataset(this->file_, "data", blob);
  hdf5_save_nd_dataset(this->file_, "diff", blob, true);
  hdf5_load_nd_dataset(this->file_, "data", 1, 4, &data, true);
  hdf5_load_nd_dataset(this->file_, "diff", 1, 4, &diff, true);
  EXPECT_EQ(data.shape(), blob.shape());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(data.cpu_data()[i], blob.cpu_data()[i]);
    EXPECT_EQ(diff.cpu_data()[i], blob.cpu_diff()[i]);
  }
}

TYPED_TEST(Hdf5, ReportsWrongShapesAndKinds) {
  Blob<TypeParam> blob(std::vector<int>{2, 3}), other(std::vector<int>{3, 2});
  hdf5_save_nd_dataset(this->file_, "data", blob);
  hdf5_save_string(this->file_, "text", "hello");
  const auto load = [this](const char* name, int min, int max, Blob<TypeParam>* target,
                           bool reshape) {
    hdf5_load_nd_dataset(this->file_, name, min, max, target, reshape);
  };
  EXPECT_ERROR(load("none", 1, 4, &blob, true), "Failed to find HDF5 dataset none");
  EXPECT_ERROR(load("data", 1, 4, &other, false),
               "dataset data has shape 2 3 where the blob has 3 2");
  EXPECT_ERROR(load("data", 3, 4, &blob, true), "dataset data has too few axes");
  EXPECT_ERROR(load("data", 1, 1, &blob, true), "dataset data has too many axes");
  EXPECT_ERROR(load("text", 0, 4, &blob, true), "dataset text holds no numbers");
}

TYPED_TEST(Hdf5, RejectsADatasetTooLargeForABlob) {
  const hsize_t dims[] = {hsize_t{1} << 20, hsize_t{1} << 20};
  const hid_t space = H5Screate_simple(2, dims, nullptr);
  const hid_t dataset = H5Dcreate2(this->file_, "huge", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                   H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  H5Dclose(dataset);
  H5Sclose(space);
  Blob<TypeParam> blob;
  EXPECT_ERROR(hdf5_load_nd_dataset(this->file_, "huge", 1, 4, &blob, true),
               "huge is larger than a blob can be");
}

/// A dataset without values, as HDF5 writes one; `properties` may be H5P_DEFAULT.
void MakeUnwritten(hid_t file, const char* name, hid_t type, hsize_t count, hid_t properties) {
  const hid_t space = H5Screate_simple(1, &count, nullptr);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  EXPECT_GE(dataset, 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

TYPED_TEST(Hdf5, RejectsADatasetLargerThanItsFileBeforeAllocating) {
  const hsize_t mib = 1 << 20;
  MakeUnwritten(this->file_, "small", H5T_NATIVE_FLOAT, 16 * mib, H5P_DEFAULT);
  MakeUnwritten(this->file_, "numbers", H5T_NATIVE_FLOAT, 16 * mib + 1, H5P_DEFAULT);
  MakeUnwritten(this->file_, "bytes", H5T_NATIVE_UCHAR, 1024 * mib, H5P_DEFAULT);
  const ThrowOnError scope;
  Blob<TypeParam> blob;
  hdf5_load_nd_dataset(this->file_, "small", 1, 4, &blob, true);
  EXPECT_EQ(blob.count(), 16 << 20);
  EXPECT_THROW(hdf5_load_nd_dataset_helper(this->file_, "numbers", 1, 4, &blob, true), Error);
  EXPECT_EQ(blob.count(), 16 << 20);
  EXPECT_THROW(hdf5_crc32(this->file_, "numbers", 0), Error);
  EXPECT_THROW(hdf5_load_bytes(this->file_, "bytes"), Error);
}

TYPED_TEST(Hdf5, ReadsCompressedAndExternalDatasets) {
  const hsize_t count = 1 << 25, chunk = 1 << 18;
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE), outside = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(packed, 1, &chunk);
  H5Pset_deflate(packed, 9);
  H5Pset_external(outside, "nowhere", 0, count * 4);
  MakeUnwritten(this->file_, "outside", H5T_NATIVE_CHAR, count * 4, outside);
  MakeUnwritten(this->file_, "packed", H5T_NATIVE_INT, count, packed);
  {
    const Hdf5Handle dataset(H5Dopen2(this->file_, "packed", H5P_DEFAULT), H5Dclose, "packed");
    const std::vector<int> zeros(count);
    H5Dwrite(dataset.id(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data());
  }
  H5Pclose(packed);
  H5Pclose(outside);
  Blob<TypeParam> blob;
  for (const char* name : {"packed", "outside"})
    hdf5_load_nd_dataset_helper(this->file_, name, 1, 4, &blob, true);
}

TYPED_TEST(Hdf5, KeepsStringsAndIntegers) {
  hdf5_save_string(this->file_, "text", "a longer text");
  hdf5_save_string(this->file_, "empty", "");
  hdf5_save_int(this->file_, "number", -7);
  EXPECT_EQ(hdf5_load_string(this->file_, "text"), "a longer text");
  EXPECT_EQ(hdf5_load_string(this->file_, "empty"), "");
  EXPECT_EQ(hdf5_load_int(this->file_, "number"), -7);
  EXPECT_ERROR(hdf5_load_int(this->file_, "text"), "dataset text is not one integer");
  EXPECT_ERROR(hdf5_load_string(this->file_, "number"), "dataset number holds no string");
}

TYPED_TEST(Hdf5, KeepsBytes) {
  const string bytes("\0\1bytes\xff", 8);
  hdf5_save_bytes(this->file_, "bytes", bytes);
  hdf5_save_int(this->file_, "number", 1);
  EXPECT_EQ(hdf5_load_bytes(this->file_, "bytes"), bytes);
  EXPECT_TRUE(hdf5_has(this->file_, "bytes"));
  EXPECT_FALSE(hdf5_has(this->file_, "none"));
  EXPECT_ERROR(hdf5_load_bytes(this->file_, "number"), "dataset number holds no bytes");
}

TYPED_TEST(Hdf5, RejectsAnIntegerThatIsTooLarge) {
  const int64_t large = int64_t{1} << 40;
  const hsize_t one = 1;
  H5LTmake_dataset(this->file_, "large", 1, &one, H5T_NATIVE_INT64, &large);
  EXPECT_ERROR(hdf5_load_int(this->file_, "large"), "dataset large holds 1099511627776, which is");
}

TYPED_TEST(Hdf5, ChecksumsCoverTheValues) {
  Blob<TypeParam> blob(std::vector<int>{2, 3});
  for (int i = 0; i < 6; ++i) blob.mutable_cpu_data()[i] = TypeParam(i) / 3;
  hdf5_save_nd_dataset(this->file_, "data", blob);
  EXPECT_EQ(hdf5_crc32(this->file_, "data", 7),
            Crc32(7, blob.cpu_data(), blob.count() * sizeof(TypeParam)));
}

TYPED_TEST(Hdf5, ListsAGroupByName) {
  for (const char* name : {"b", "a", "c"}) hdf5_save_int(this->file_, name, 1);
  ASSERT_EQ(hdf5_get_num_links(this->file_), 3);
  EXPECT_EQ(hdf5_get_name_by_idx(this->file_, 0), "a");
  EXPECT_EQ(hdf5_get_name_by_idx(this->file_, 2), "c");
  EXPECT_ERROR(hdf5_get_name_by_idx(this->file_, 3), "member 3 of an HDF5 group");
}

TEST(Hdf5Names, AreEscapedOnlyIfNeededAndRestored) {
  EXPECT_EQ(hdf5_escape("inception_3a/1x1"), "inception_3a%2F1x1");
  EXPECT_EQ(hdf5_escape("a%2Fb"), "a%252Fb");
  EXPECT_EQ(hdf5_escape("a%/b"), "a%25%2Fb");
  EXPECT_EQ(hdf5_escape("."), "%2E");
  for (const char* plain : {"conv1", "a.b", "100%", "%2f", "%%", "", "%", "%2"})
    EXPECT_EQ(hdf5_escape(plain), plain);
  for (const char* name : {"a/b", "/", "%2F", "%25", "%2E", ".", "..", "a%25/%", "conv1", "%%2F%"})
    EXPECT_EQ(hdf5_unescape(hdf5_escape(name)), name);
}

TEST(Hdf5Files, AreReadableByHdf5sOwnDriver) {
  string path;
  MakeTempFilename(&path);
  Blob<float> blob(std::vector<int>{1000, 1000}), read;
  for (int i = 0; i < blob.count(); ++i) blob.mutable_cpu_data()[i] = static_cast<float>(i);
  {
    AtomicFile file(path);
    hdf5_write_file(
        [&](hid_t id) {
          for (int i = 0; i < 50; ++i) hdf5_save_int(id, "number" + std::to_string(i), i);
          hdf5_save_nd_dataset(id, "data", blob);
        },
        &file);
    EXPECT_FALSE(std::filesystem::exists(path));
    file.Commit();
  }
  const Hdf5Handle file(hdf5_open_file(path), H5Fclose, path);
  hdf5_load_nd_dataset(file.id(), "data", 1, 4, &read, true);
  EXPECT_EQ(hdf5_load_int(file.id(), "number49"), 49);
  ASSERT_EQ(read.shape(), blob.shape());
  EXPECT_EQ(read.cpu_data()[999999], 999999);
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TEST(Hdf5Files, ReportAFullDiskWithItsReason) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  const ThrowOnError scope;
  Blob<float> blob(std::vector<int>{1000});
  for (int i = 0; i < 3; ++i) {
    try {
      AtomicFile file("/dev/full");
      hdf5_write_file([&](hid_t id) { hdf5_save_nd_dataset(id, "data", blob); }, &file);
      ADD_FAILURE() << "a full disk was not noticed";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "Cannot write /dev/full: No space left on device");
    }
  }
  EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

TEST(Hdf5Files, AreOpenedOnlyIfRegular) {
  EXPECT_ERROR(hdf5_open_file("/dev/null"), "Cannot read /dev/null: it is no regular file");
  EXPECT_ERROR(hdf5_open_file(string(300, 'x')), "File not found: xxx");  // a name that is too long
}

typedef Hdf5<float> Hdf5String;

TEST_F(Hdf5String, ReadsOnlyASingleString) {
  const auto make = [this](const char* name, size_t size, const std::vector<hsize_t>& dims) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    H5Dclose(H5Dcreate2(this->file_, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Tclose(type);
  };
  make("one", 4, {1});
  make("many", 4, {1000});
  make("long", size_t{1} << 31, {1});
  make("pointers", H5T_VARIABLE, {1});
  const ThrowOnError scope;
  EXPECT_EQ(hdf5_load_string(this->file_, "one"), "");
  for (const char* name : {"many", "long", "pointers"})
    EXPECT_THROW(hdf5_load_string(this->file_, name), Error) << name;
}

}  // namespace
}  // namespace caffe

#endif  // USE_HDF5
