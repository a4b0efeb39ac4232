#include "caffe/util/hdf5.hpp"

#include <gtest/gtest.h>

#ifdef USE_HDF5

#include <filesystem>
#include <string>
#include <vector>

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

TYPED_TEST(Hdf5, WrongShapesAndKindsAreNamed) {
  Blob<TypeParam> blob(std::vector<int>{2, 3}), other(std::vector<int>{3, 2});
  hdf5_save_nd_dataset(this->file_, "data", blob);
  hdf5_save_string(this->file_, "text", "hello");
  const auto load = [this](const char* name, int min, int max, Blob<TypeParam>* target,
                           bool reshape) {
    hdf5_load_nd_dataset(this->file_, name, min, max, target, reshape);
  };
  EXPECT_DEATH(load("none", 1, 4, &blob, true), "Failed to find HDF5 dataset none");
  EXPECT_DEATH(load("data", 1, 4, &other, false),
               "dataset data has shape 2 3 where the blob has 3 2");
  EXPECT_DEATH(load("data", 3, 4, &blob, true), "dataset data has too few axes");
  EXPECT_DEATH(load("data", 1, 1, &blob, true), "dataset data has too many axes");
  EXPECT_DEATH(load("text", 0, 4, &blob, true), "dataset text holds no numbers");
}

TYPED_TEST(Hdf5, ADatasetLargerThanABlobIsRefused) {
  const hsize_t dims[] = {hsize_t{1} << 20, hsize_t{1} << 20};
  const hid_t space = H5Screate_simple(2, dims, nullptr);
  const hid_t dataset = H5Dcreate2(this->file_, "huge", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                   H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  H5Dclose(dataset);
  H5Sclose(space);
  Blob<TypeParam> blob;
  EXPECT_DEATH(hdf5_load_nd_dataset(this->file_, "huge", 1, 4, &blob, true),
               "huge is larger than a blob can be");
}

TYPED_TEST(Hdf5, KeepsStringsAndIntegers) {
  hdf5_save_string(this->file_, "text", "a longer text");
  hdf5_save_string(this->file_, "empty", "");
  hdf5_save_int(this->file_, "number", -7);
  EXPECT_EQ(hdf5_load_string(this->file_, "text"), "a longer text");
  EXPECT_EQ(hdf5_load_string(this->file_, "empty"), "");
  EXPECT_EQ(hdf5_load_int(this->file_, "number"), -7);
  EXPECT_DEATH(hdf5_load_int(this->file_, "text"), "dataset text is not one integer");
  EXPECT_DEATH(hdf5_load_string(this->file_, "number"), "dataset number holds no string");
}

TYPED_TEST(Hdf5, ListsAGroupByName) {
  for (const char* name : {"b", "a", "c"}) hdf5_save_int(this->file_, name, 1);
  ASSERT_EQ(hdf5_get_num_links(this->file_), 3);
  EXPECT_EQ(hdf5_get_name_by_idx(this->file_, 0), "a");
  EXPECT_EQ(hdf5_get_name_by_idx(this->file_, 2), "c");
  EXPECT_DEATH(hdf5_get_name_by_idx(this->file_, 3), "member 3 of an HDF5 group");
}

}  // namespace
}  // namespace caffe

#endif  // USE_HDF5
