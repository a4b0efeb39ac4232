#include <unistd.h>

#include <fstream>
#include <set>

#include "caffe/layers/test/variant_check.hpp"
#include "caffe/util/math_functions.hpp"

#ifdef USE_HDF5
#include <filesystem>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/hdf5.hpp"
#endif

namespace caffe {
namespace {

vector<double> Values(const Blob<double>& blob) {
  return vector<double>(blob.cpu_data(), blob.cpu_data() + blob.count());
}

TEST(Input, GivesItsTopsTheirShapes) {
  LayerCase one("type: 'Input' input_param { shape { dim: 2 dim: 3 } }", {}, 2);
  one.SetUp();
  EXPECT_EQ(one.top[1]->shape(), (vector<int>{2, 3}));
  LayerCase each("type: 'Input' input_param { shape { dim: 2 } shape { dim: 5 } }", {}, 2);
  each.SetUp();
  EXPECT_EQ(each.top[1]->shape(), (vector<int>{5}));
  EXPECT_TRUE(each.Traits().user_tops);
}

TEST(Input, LeavesTopsToTheUser) {
  LayerCase input("type: 'Input' input_param { shape { dim: 2 } }", {}, 1);
  input.SetUp();
  input.top[0]->Reshape({3});
  input.top[0]->mutable_cpu_data()[2] = 7;
  input.layer->Forward(input.bottom, input.top);
  EXPECT_EQ(input.top[0]->shape(), (vector<int>{3}));
  EXPECT_EQ(input.top[0]->cpu_data()[2], 7);
}

TEST(InputErrors, NamesTheLayerOfABadNumberOfShapes) {
  LayerCase input("name: 'in' type: 'Input' input_param { shape { } shape { } }", {}, 3);
  EXPECT_ERROR(input.SetUp(), "Layer in: must specify 'shape' once");
}

string Dummy(const string& param) {
  return "name: 'dummy' type: 'DummyData' dummy_data_param { " + param + " }";
}

TEST(DummyData, FillsWithConstants) {
  LayerCase dummy(Dummy("shape { dim: 2 } data_filler { value: 3 } data_filler { }"), {}, 2);
  dummy.SetUp();
  EXPECT_TRUE(dummy.Traits().repeatable);
  EXPECT_EQ(Values(*dummy.top[0]), (vector<double>{3, 3}));
  EXPECT_EQ(dummy.top[1]->data()->head(), SyncedMemory::UNINITIALIZED);
  for (Blob<double>* blob : dummy.top) blob->mutable_cpu_data()[1] = NAN;  // as a plan may
  dummy.layer->Forward(dummy.bottom, dummy.top);
  EXPECT_EQ(Values(*dummy.top[0]), (vector<double>{3, 3}));
  EXPECT_EQ(Values(*dummy.top[1]), (vector<double>{0, 0}));
}

TEST(DummyData, DrawsNewRandomValuesEachTime) {
  LayerCase dummy(Dummy("num: 2 channels: 3 channels: 1 height: 1 width: 4 "
                        "data_filler { type: 'gaussian' }"),
                  {}, 2);
  dummy.SetUp();
  EXPECT_FALSE(dummy.Traits().repeatable);
  EXPECT_EQ(dummy.top[0]->shape(), (vector<int>{2, 3, 1, 4}));
  EXPECT_EQ(dummy.top[1]->shape(), (vector<int>{2, 1, 1, 4}));
  dummy.layer->Forward(dummy.bottom, dummy.top);
  const vector<double> first = Values(*dummy.top[0]);
  dummy.layer->Forward(dummy.bottom, dummy.top);
  EXPECT_NE(Values(*dummy.top[0]), first);
}

TEST(DummyData, WithoutRefillFillsOnceAndLeavesTheRandomStreamAlone) {
  LayerCase dummy(Dummy("refill: false shape { dim: 50 } data_filler { type: 'uniform' } "
                        "data_filler { value: 2 }"),
                  {}, 2);
  dummy.SetUp();
  EXPECT_TRUE(dummy.Traits().fed);
  Caffe::set_random_seed(5);
  const unsigned int next = caffe_rng_rand();
  Caffe::set_random_seed(5);
  dummy.layer->Forward(dummy.bottom, dummy.top);
  EXPECT_EQ(caffe_rng_rand(), next);
  const vector<double> first = Values(*dummy.top[0]);
  EXPECT_GT(std::set<double>(first.begin(), first.end()).size(), 10u);
  for (Blob<double>* blob : dummy.top) blob->mutable_cpu_data()[1] = NAN;  // as a plan may
  dummy.layer->Forward(dummy.bottom, dummy.top);
  EXPECT_EQ(Values(*dummy.top[0]), first);
  EXPECT_EQ(Values(*dummy.top[1]), vector<double>(50, 2));
}

TEST(DummyDataErrors, NamesTheLayerOfABadParameter) {
  LayerCase fillers(Dummy("shape { dim: 2 } data_filler { } data_filler { }"), {}, 3);
  EXPECT_ERROR(fillers.SetUp(), "Layer dummy: number of data fillers");
  LayerCase shapes(Dummy(""), {}, 1);
  EXPECT_ERROR(shapes.SetUp(), "Layer dummy: must specify 'shape'");
  LayerCase both(Dummy("shape { dim: 2 } num: 1"), {}, 1);
  EXPECT_ERROR(both.SetUp(), "Layer dummy: both");
  LayerCase legacy(Dummy("num: 1 channels: 1 height: 1"), {}, 1);
  EXPECT_ERROR(legacy.SetUp(), "Layer dummy: must specify 'width'");
}

#ifdef USE_HDF5

/// Two files of 3 and 2 rows: row r has data {10 r, 10 r + 1} and label r.
class HDF5Data : public testing::Test {
 protected:
  HDF5Data() : folder_(testing::TempDir() + "hdf5_data_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    WriteFile("a.h5", 0, 3);
    WriteFile("b.h5", 3, 5);
    std::ofstream(folder_ + "/list") << folder_ << "/a.h5\n" << folder_ << "/b.h5\n";
  }
  ~HDF5Data() { std::filesystem::remove_all(folder_); }

  void WriteFile(const string& name, int begin, int end) {
    Blob<double> data({end - begin, 2}), label({end - begin});
    for (int row = begin; row < end; ++row) {
      data.mutable_cpu_data()[2 * (row - begin)] = 10 * row;
      data.mutable_cpu_data()[2 * (row - begin) + 1] = 10 * row + 1;
      label.mutable_cpu_data()[row - begin] = row;
    }
    const string path = folder_ + "/" + name;
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hdf5_save_nd_dataset(file, "data", data);
    hdf5_save_nd_dataset(file, "label", label);
    H5Fclose(file);
  }

  string Layer(const string& param) const {
    return "name: 'h5' type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { source: '" +
           folder_ + "/list' " + param + " }";
  }
  /// The labels of `passes` batches; checks that the data belong to them.
  vector<double> Labels(LayerCase* layer, int passes) {
    layer->SetUp();
    vector<double> labels;
    for (int pass = 0; pass < passes; ++pass) {
      layer->layer->Forward(layer->bottom, layer->top);
      for (int row = 0; row < layer->top[1]->count(); ++row) {
        labels.push_back(layer->top[1]->cpu_data()[row]);
        EXPECT_EQ(layer->top[0]->cpu_data()[2 * row], 10 * labels.back());
        EXPECT_EQ(layer->top[0]->cpu_data()[2 * row + 1], 10 * labels.back() + 1);
      }
    }
    return labels;
  }

  string folder_;
};

TEST_F(HDF5Data, ReadsFilesWithBlanksInTheirNames) {
  std::filesystem::rename(folder_ + "/a.h5", folder_ + "/my a.h5");
  std::ofstream(folder_ + "/list") << "  " << folder_ << "/my a.h5 \t\r\n\n" << folder_ << "/b.h5";
  LayerCase layer(Layer("batch_size: 5"), {}, 2);
  EXPECT_EQ(Labels(&layer, 1), (vector<double>{0, 1, 2, 3, 4}));
}

TEST_F(HDF5Data, ReadsSeveralFilesOfALineAsCaffeDoes) {
  std::ofstream(folder_ + "/list") << folder_ << "/a.h5 " << folder_ << "/b.h5\n";
  LayerCase layer(Layer("batch_size: 5"), {}, 2);
  EXPECT_EQ(Labels(&layer, 1), (vector<double>{0, 1, 2, 3, 4}));
}

TEST_F(HDF5Data, ReadsAllFilesOverAndOver) {
  LayerCase layer(Layer("batch_size: 4"), {}, 2);
  EXPECT_EQ(Labels(&layer, 3), (vector<double>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(layer.top[0]->shape(), (vector<int>{4, 2}));
  EXPECT_FALSE(layer.Traits().repeatable);
}

TEST_F(HDF5Data, ShufflesFilesAndRows) {
  Caffe::set_random_seed(3);
  LayerCase layer(Layer("batch_size: 5 shuffle: true"), {}, 2);
  const vector<double> labels = Labels(&layer, 4);
  std::set<vector<double>> orders;
  for (int epoch = 0; epoch < 4; ++epoch) {
    vector<double> order(labels.begin() + 5 * epoch, labels.begin() + 5 * epoch + 5);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (vector<double>{0, 1, 2, 3, 4}));
  }
  EXPECT_GT(orders.size(), 1u);
}

TEST_F(HDF5Data, LeavesTopsWithoutADatasetAsTheyAre) {
  LayerCase layer(Layer("batch_size: 4"), {}, 4);
  layer.top[3]->Reshape({2});
  layer.top[3]->mutable_cpu_data()[1] = 7;
  EXPECT_EQ(Labels(&layer, 2), (vector<double>{0, 1, 2, 3, 4, 0, 1, 2}));
  EXPECT_EQ(layer.top[2]->count(), 0);
  EXPECT_EQ(layer.top[3]->shape(), vector<int>{2});
  EXPECT_EQ(layer.top[3]->cpu_data()[1], 7);
  EXPECT_EQ(layer.Traits().forward.writes.size(), 2u);
}

TEST_F(HDF5Data, NamesLayerAndFileInErrors) {
  LayerCase rows(Layer("batch_size: 0"), {}, 2);
  EXPECT_ERROR(rows.SetUp(), "Layer h5: batch_size");
  LayerCase tops(Layer("batch_size: 1"), {}, 1);
  EXPECT_ERROR(tops.SetUp(), "Layer h5: 2 datasets are named for 1 tops");
  std::ofstream(folder_ + "/a.h5") << "no HDF5";
  LayerCase corrupt(Layer("batch_size: 1"), {}, 2);
  EXPECT_ERROR(corrupt.SetUp(), "Layer h5: .*a.h5 is no HDF5 file, or damaged");
  std::filesystem::remove(folder_ + "/list");
  LayerCase missing(Layer("batch_size: 1"), {}, 2);
  EXPECT_ERROR(missing.SetUp(), "Layer h5: cannot open source file .*list");
}

#endif  // USE_HDF5

}  // namespace
}  // namespace caffe
