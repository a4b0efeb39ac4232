#include "caffe/layers/data_layer.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/failure.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace caffe {
namespace {

Datum Image(int label, int height) {
  Datum datum;
  datum.set_channels(2);
  datum.set_height(height);
  datum.set_width(3);
  datum.set_label(label);
  datum.set_data(string(2 * height * 3, static_cast<char>(10 * label)));
  return datum;
}

/// A database whose record r is an image of pixels 10 r with label r.
class DataLayerTest : public testing::TestWithParam<const char*> {
 protected:
  DataLayerTest() : source_(testing::TempDir() + "data_layer_" + std::to_string(getpid())) {
    std::filesystem::remove_all(source_);  // left by a crashed test with the same process id
  }
  ~DataLayerTest() { std::filesystem::remove_all(source_); }

  void Write(const vector<string>& records) {
    std::unique_ptr<db::DB> database(db::GetDB(string(GetParam())));
    database->Open(source_, db::NEW);
    std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (size_t i = 0; i < records.size(); ++i) {
      transaction->Put("key" + std::to_string(i), records[i]);
    }
    transaction->Commit();
  }
  void WriteImages(const vector<int>& heights) {
    vector<string> records;
    for (size_t i = 0; i < heights.size(); ++i) {
      records.push_back(Image(static_cast<int>(i), heights[i]).SerializeAsString());
    }
    Write(records);
  }
  string Layer(const string& param, const string& more = "") const {
    string backend = GetParam();
    std::transform(backend.begin(), backend.end(), backend.begin(), ::toupper);
    return "name: 'data' type: 'Data' data_param { source: '" + source_ + "' backend: " + backend +
           " " + param + " } " + more;
  }
  void ExpectError(const string& param, const string& message) const {
    EXPECT_ERROR(LayerCase(Layer(param), {}, 2).SetUp(), message);
  }
  static vector<double> Labels(LayerCase* layer, int passes) {
    vector<double> labels;
    for (int pass = 0; pass < passes; ++pass) {
      layer->layer->Forward(layer->bottom, layer->top);
      const Blob<double>& label = *layer->top[1];
      labels.insert(labels.end(), label.cpu_data(), label.cpu_data() + label.count());
    }
    return labels;
  }

  string source_;
};

TEST_P(DataLayerTest, ReadsRecordsInOrderOverAndOver) {
  WriteImages(vector<int>(5, 4));
  for (const char* prefetch : {"1", "4"}) {
    LayerCase layer(Layer(string("batch_size: 3 prefetch: ") + prefetch), {}, 2);
    layer.SetUp();
    EXPECT_EQ(layer.top[0]->shape(), (vector<int>{3, 2, 4, 3}));
    EXPECT_EQ(layer.top[1]->shape(), (vector<int>{3}));
    EXPECT_EQ(Labels(&layer, 4), (vector<double>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1}));
    EXPECT_EQ(layer.top[0]->cpu_data()[0], 40);
    EXPECT_EQ(layer.top[0]->cpu_data()[layer.top[0]->count() - 1], 10);
    EXPECT_FALSE(layer.Traits().repeatable);
  }
}

TEST_P(DataLayerTest, ShufflesAllRecordsInEachEpoch) {
  WriteImages(vector<int>(8, 4));
  LayerCase layer(Layer("batch_size: 8 shuffle: true"), {}, 2);
  layer.SetUp();
  std::set<vector<double>> orders;
  for (int epoch = 0; epoch < 4; ++epoch) {
    vector<double> labels = Labels(&layer, 1);
    orders.insert(labels);
    std::sort(labels.begin(), labels.end());
    EXPECT_EQ(labels, (vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  EXPECT_GT(orders.size(), 2u);
}

TEST_P(DataLayerTest, WritesIntoTheTopsMemory) {
  WriteImages(vector<int>(4, 4));
  LayerCase layer(Layer("batch_size: 2"), {}, 2);
  layer.SetUp();
  const double* place = layer.top[0]->cpu_data();
  Labels(&layer, 3);
  EXPECT_EQ(layer.top[0]->cpu_data(), place);
  EXPECT_FALSE(layer.top[0]->data()->user_owned());
}

TEST_P(DataLayerTest, TransformsAndWorksWithoutLabels) {
  WriteImages({4, 5, 6, 4});
  LayerCase layer(Layer("batch_size: 4", "transform_param { scale: 0.5 crop_size: 3 }"), {}, 1);
  layer.SetUp();
  layer.layer->Forward(layer.bottom, layer.top);
  EXPECT_EQ(layer.top[0]->shape(), (vector<int>{4, 2, 3, 3}));
  EXPECT_EQ(layer.top[0]->cpu_data()[layer.top[0]->count() - 1], 15);
}

#ifdef USE_OPENCV
TEST_P(DataLayerTest, DecodesImagesWithTheirOwnOrTheRequestedChannels) {
  const cv::Mat image(4, 3, CV_8UC3, cv::Scalar(10, 20, 30));
  vector<uchar> bytes;
  ASSERT_TRUE(cv::imencode(".png", image, bytes));
  Datum datum;
  datum.set_encoded(true);
  datum.set_data(bytes.data(), bytes.size());
  Write({datum.SerializeAsString(), datum.SerializeAsString()});
  {
    LayerCase color(Layer("batch_size: 2"), {}, 1);
    color.SetUp();
    color.layer->Forward(color.bottom, color.top);
    ASSERT_EQ(color.top[0]->shape(), (vector<int>{2, 3, 4, 3}));
    for (int i = 0; i < color.top[0]->count(); ++i)
      EXPECT_EQ(color.top[0]->cpu_data()[i], 10 + i / 12 % 3 * 10);
  }
  LayerCase gray(Layer("batch_size: 2", "transform_param { force_gray: true }"), {}, 1);
  gray.SetUp();
  EXPECT_EQ(gray.top[0]->shape(), (vector<int>{2, 1, 4, 3}));
}
#endif

TEST_P(DataLayerTest, TakesItsShapeFromEachBatch) {
  WriteImages({4, 4, 7, 7});
  LayerCase layer(Layer("batch_size: 2"), {}, 2);
  layer.SetUp();
  for (int height : {4, 7, 4}) {
    layer.layer->Forward(layer.bottom, layer.top);
    EXPECT_EQ(layer.top[0]->shape(), (vector<int>{2, 2, height, 3}));
  }
}

TEST_P(DataLayerTest, SkipsAtRandomAtTheStart) {
  WriteImages(vector<int>(7, 4));
  std::set<double> starts;
  for (int seed = 0; seed < 20; ++seed) {
    Caffe::set_random_seed(seed);
    LayerCase layer(Layer("batch_size: 1 rand_skip: 5"), {}, 2);
    layer.SetUp();
    starts.insert(Labels(&layer, 1)[0]);
  }
  EXPECT_GT(starts.size(), 1u);
  EXPECT_LT(*starts.rbegin(), 5);
}

TEST_P(DataLayerTest, DividesRecordsAmongSolvers) {
  WriteImages(vector<int>(6, 4));
  Caffe::set_solver_count(3);
  Caffe::set_solver_rank(1);
  {
    LayerCase train(Layer("batch_size: 2", "phase: TRAIN"), {}, 2);
    train.SetUp();
    EXPECT_EQ(Labels(&train, 2), (vector<double>{1, 4, 1, 4}));
  }
  {
    LayerCase test(Layer("batch_size: 2", "phase: TEST"), {}, 2);
    test.SetUp();
    EXPECT_EQ(Labels(&test, 1), (vector<double>{0, 1}));
  }
  Caffe::set_solver_count(1);
  Caffe::set_solver_rank(0);
}

TEST_P(DataLayerTest, NamesLayerAndSourceInErrors) {
  ExpectError("batch_size: 1", "Layer data \\(source .*data_layer_.*does not exist");
  WriteImages({4, 5});
  ExpectError("batch_size: 2", "Layer data \\(source .*image key1 of 2 x 5 x 3 does not fit");
  ExpectError("batch_size: 0", "Layer data \\(source .*batch_size must be 1 to 2147483647");
  for (const char* prefetch : {"0", "1025", "4294967295"})
    ExpectError(string("batch_size: 1 prefetch: ") + prefetch, "Layer data: prefetch must be");
}

TEST_P(DataLayerTest, RejectsARecordThatIsNoImage) {
  Write({"\xff\xff\xff"});
  ExpectError("batch_size: 1", "Layer data \\(source .*key0' is not a Datum");
}

/// Reads two labels per record, as users of Caffe do: with its own set-up on the open database.
class TwoLabelsLayer : public DataLayer<double> {
 public:
  using DataLayer<double>::DataLayer;
  ~TwoLabelsLayer() override { StopInternalThread(); }
  void DataLayerSetUp(const vector<Blob<double>*>&, const vector<Blob<double>*>& top) override {
    Datum datum;
    datum.ParseFromString(cursor_->value());
    top[0]->Reshape(data_transformer_->InferBlobShape(datum));
    top[1]->Reshape({1, 2});
  }

 protected:
  void load_batch(Batch<double>* batch) override {
    Datum datum;
    datum.ParseFromString(cursor_->value());
    batch->data_.Reshape(data_transformer_->InferBlobShape(datum));
    data_transformer_->Transform(datum, &batch->data_);
    batch->label_.Reshape({1, 2});
    batch->label_.mutable_cpu_data()[0] = datum.label();
    batch->label_.mutable_cpu_data()[1] = -datum.label();
    Next();
  }
};

TEST_P(DataLayerTest, LetsASubclassReadTheDatabase) {
  WriteImages({4, 4, 4});
  TwoLabelsLayer layer(ParseLayer(Layer("batch_size: 1")));
  Blob<double> data, label;
  layer.SetUp({}, {&data, &label});
  for (const double expected : {0, 1, 2, 0, 1}) {
    layer.Forward({}, {&data, &label});
    EXPECT_EQ(data.shape(), (vector<int>{1, 2, 4, 3}));
    EXPECT_EQ(data.cpu_data()[5], 10 * expected);
    EXPECT_EQ(label.cpu_data()[0], expected);
    EXPECT_EQ(label.cpu_data()[1], -expected);
  }
}

vector<const char*> Backends() {
  vector<const char*> backends;
#ifdef USE_LMDB
  backends.push_back("lmdb");
#endif
#ifdef USE_LEVELDB
  backends.push_back("leveldb");
#endif
  return backends;
}

#ifdef USE_LMDB
TEST_P(DataLayerTest, TruncatedDatabaseEndsTheProgramWithAMessage) {
  if (GetParam() != string("lmdb")) GTEST_SKIP() << "LevelDB's files are not mapped to be read";
  WriteImages(vector<int>(20, 400));
  EXPECT_EXIT(
      {
        ExitOnFailure(1);
        LayerCase layer(Layer("batch_size: 1 prefetch: 1"), {}, 2);
        layer.SetUp();
        std::filesystem::resize_file(source_ + "/data.mdb", 0);
        Labels(&layer, 20);
      },
      // The child process may have another folder.
      testing::ExitedWithCode(1), "data_layer_[0-9]+ (was cut off|is damaged)");
}
#endif

INSTANTIATE_TEST_SUITE_P(Backend, DataLayerTest, testing::ValuesIn(Backends()),
                         [](const auto& info) { return string(info.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DataLayerTest);

}  // namespace
}  // namespace caffe
