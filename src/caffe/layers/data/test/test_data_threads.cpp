// Sources whose images are decoded and transformed by several threads.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "caffe/device_group.hpp"
#include "caffe/layers/base_data_layer.hpp"
#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/layout_proto.hpp"
#include "layrub/device/communicator.hpp"

#if defined(USE_OPENCV) && (defined(USE_LMDB) || defined(USE_LEVELDB))
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>

namespace caffe {
namespace {

constexpr int kImages = 23;
#ifdef USE_LMDB
constexpr char kBackend[] = "lmdb";
#else
constexpr char kBackend[] = "leveldb";
#endif

/// Image i. Each has another size and takes other work to decode.
vector<uchar> Encoded(int i) {
  cv::Mat image(40 + 7 * (i % 5), 200 - 30 * (i % 4), CV_8UC3);
  cv::RNG random(static_cast<uint64>(i) + 1);
  random.fill(image, cv::RNG::UNIFORM, 0, 256);
  vector<uchar> bytes;
  CHECK(cv::imencode(".jpg", image, bytes));
  return bytes;
}

Datum Picture(int i) {
  const vector<uchar> bytes = Encoded(i);
  Datum datum;
  datum.set_encoded(true);
  datum.set_data(bytes.data(), bytes.size());
  datum.set_label(i);
  return datum;
}

Datum Raw(int i) {
  Datum datum;
  datum.set_channels(3);
  datum.set_height(40 + 7 * (i % 5));
  datum.set_width(50);
  datum.set_label(i);
  for (int p = 0; p < 3 * datum.height() * datum.width(); ++p)
    datum.mutable_data()->push_back(static_cast<char>(p * (i + 3) + p / 11));
  return datum;
}

/// A folder with the same images as databases of JPEGs, of pixels and of JPEGs with boxes, as files
/// with a list, and as files with windows.
class DataThreads : public testing::Test {
 protected:
  DataThreads() {
    MakeTempDir(&folder_);
    folder_ += "/";
    vector<string> pictures, raw, boxed;
    std::ofstream list(folder_ + "list"), windows(folder_ + "windows");
    for (int i = 0; i < kImages; ++i) {
      pictures.push_back(Picture(i).SerializeAsString());
      raw.push_back(Raw(i).SerializeAsString());
      AnnotatedDatum record;
      *record.mutable_datum() = Picture(i);
      AnnotationGroup* const group = record.add_annotation_group();
      group->set_group_label(i);
      NormalizedBBox* const box = group->add_annotation()->mutable_bbox();
      box->set_xmin(0.2f), box->set_ymin(0.1f), box->set_xmax(0.7f), box->set_ymax(0.8f);
      boxed.push_back(record.SerializeAsString());
      const vector<uchar> bytes = Encoded(i);
      const string file = std::to_string(i) + ".jpg";
      std::ofstream(folder_ + file, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
      list << file << " " << i << "\n";
      windows << "# " << i << "\n"
              << file << "\n3 " << 40 + 7 * (i % 5) << " " << 200 - 30 * (i % 4)
              << "\n2\n1 0.9 2 3 30 28\n0 0.1 10 4 " << 20 + i << " 33\n";
    }
    Write("pictures", pictures);
    Write("raw", raw);
    Write("boxed", boxed);
  }
  ~DataThreads() override { std::filesystem::remove_all(folder_); }

  void Write(const string& name, const vector<string>& records) const {
    std::unique_ptr<db::DB> database(db::GetDB(string(kBackend)));
    database->Open(folder_ + name, db::NEW);
    std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (size_t i = 0; i < records.size(); ++i)
      transaction->Put("key" + std::to_string(100 + i), records[i]);
    transaction->Commit();
  }
  string Database(const string& name, const string& more, const string& type = "Data") const {
    string backend = kBackend;
    std::transform(backend.begin(), backend.end(), backend.begin(), ::toupper);
    return "name: 'data' type: '" + type +
           "' phase: TRAIN data_param { batch_size: 9 backend: " + backend + " source: '" +
           folder_ + name + "' } " + more;
  }
  string Files(const string& type, const string& param, const string& more) const {
    const bool windows = type == "WindowData";
    return "name: 'data' type: '" + type + "' phase: TRAIN " +
           (windows ? "window_data_param" : "image_data_param") + " { batch_size: 9 source: '" +
           folder_ + (windows ? "windows" : "list") + "' root_folder: '" + folder_ + "' " + param +
           " } " + more;
  }
  static std::unique_ptr<LayerCase> SetUp(const string& layer, int threads) {
    Caffe::set_random_seed(5);
    auto source = std::make_unique<LayerCase>(layer, vector<vector<int>>(), 2);
    dynamic_cast<BasePrefetchingDataLayer<double>&>(*source->layer).set_load_threads(threads);
    source->SetUp();
    return source;
  }
  /// Data and labels of eight batches, three epochs.
  static vector<vector<double>> Batches(const string& layer, int threads) {
    const auto source = SetUp(layer, threads);
    vector<vector<double>> batches;
    for (int i = 0; i < 8; ++i) {
      source->layer->Reshape(source->bottom, source->top);
      source->layer->Forward(source->bottom, source->top);
      for (Blob<double>* top : source->top) batches.push_back(DataOf(*top));
    }
    return batches;
  }
  static void ExpectSameWithAnyThreads(const string& layer) {
    const vector<vector<double>> one = Batches(layer, 1);
    EXPECT_NE(one[0], one[2]);
    for (int threads : {2, 3, 8, 30}) EXPECT_EQ(Batches(layer, threads), one) << threads;
  }
  /// The error that one of the first three forwards throws.
  static string Error(const string& layer, int threads) {
    Caffe::set_throw_on_error(true);
    string message;
    try {
      const auto source = SetUp(layer, threads);
      for (int i = 0; i < 3; ++i) source->layer->Forward(source->bottom, source->top);
    } catch (const caffe::Error& error) {
      message = error.what();
    }
    Caffe::set_throw_on_error(false);
    return message;
  }

  string folder_;
};

constexpr char kCrops[] = "transform_param { crop_size: 32 mirror: true scale: 0.5 mean_value: 7 }";
constexpr char kChanges[] =
    "transform_param { crop_size: 32 mirror: true img_rand_resize_lower: 33 "
    "img_rand_resize_upper: 40 distort_param { brightness_prob: 0.5 brightness_delta: 20 } "
    "noise_param { prob: 0.5 inverse: true } }";

TEST_F(DataThreads, AnyNumberOfThreadsReadsJpegsAlike) {
  ExpectSameWithAnyThreads(Database("pictures", kCrops));
}

TEST_F(DataThreads, AnyNumberOfThreadsTransformsAtRandomAlike) {
  ExpectSameWithAnyThreads(Database("pictures", kChanges));
}

TEST_F(DataThreads, AnyNumberOfThreadsReadsPixelsAlike) {
  ExpectSameWithAnyThreads(Database("raw", kCrops));
}

TEST_F(DataThreads, AnyNumberOfThreadsShufflesRecordsAlike) {
  string layer = Database("pictures", kCrops);
  layer.replace(layer.find("batch_size"), 0, "shuffle: true ");
  ExpectSameWithAnyThreads(layer);
}

TEST_F(DataThreads, AnyNumberOfThreadsReadsBoxesAlike) {
  ExpectSameWithAnyThreads(Database(
      "boxed",
      "transform_param { mirror: true resize_param { height: 32 width: 32 } expand_param { prob: "
      "0.5 max_expand_ratio: 2 } } annotated_data_param { batch_sampler { sampler { min_scale: "
      "0.3 } max_sample: 1 max_trials: 5 } }",
      "AnnotatedData"));
}

TEST_F(DataThreads, AnyNumberOfThreadsReadsListsAlike) {
  ExpectSameWithAnyThreads(Files("ImageData", "shuffle: true", kCrops));
  ExpectSameWithAnyThreads(Files("ImageData", "new_height: 20 new_width: 30", ""));
}

TEST_F(DataThreads, AnyNumberOfThreadsReadsWindowsAlike) {
  ExpectSameWithAnyThreads(
      Files("WindowData", "", "transform_param { crop_size: 24 mirror: true }"));
}

/// A source of batches of eight, of which each of `devices` takes a part.
string Divided(string layer, int devices) {
  layrub::Layout layout{{8}, {}, {}};
  for (int parts = 1; parts < devices; parts *= 2) layout.levels.push_back(layrub::Cut(0));
  layer.replace(layer.find("batch_size: 9"), 13, "batch_size: 8");
  return devices == 1 ? layer : layer + " layout { " + ToProto(layout).ShortDebugString() + " }";
}

TEST_F(DataThreads, EachOfSeveralDevicesGetsItsItemsOfTheWholeBatch) {
  for (const string& source :
       {Database("pictures", kCrops), Database("raw", kCrops), Database("pictures", kChanges),
        Files("ImageData", "shuffle: true", kCrops),
        Files("WindowData", "", "transform_param { crop_size: 24 mirror: true }")}) {
    const vector<vector<double>> whole = Batches(Divided(source, 1), 2);
    for (const int devices : {2, 4}) {
      const layrub::Group group =
          layrub::ConnectThreads(std::vector<layrub::Device*>(static_cast<size_t>(devices)));
      vector<vector<double>> joined(whole.size());
      for (const auto& member : group) {
        const DeviceGroupScope scope(member.get());
        const vector<vector<double>> own = Batches(Divided(source, devices), 2);
        for (size_t i = 0; i < own.size(); ++i)
          joined[i].insert(joined[i].end(), own[i].begin(), own[i].end());
      }
      EXPECT_EQ(joined, whole) << devices << " " << source;
    }
  }
}

TEST_F(DataThreads, AnImageThatAnotherDeviceTakesIsNotDecoded) {
  vector<string> records;
  for (int i = 0; i < 8; ++i) records.push_back(Picture(i).SerializeAsString());
  Write("eight", records);
  const vector<vector<double>> whole = Batches(Divided(Database("eight", kCrops), 1), 2);
  for (int i = 4; i < 8; ++i) {
    Datum damaged = Picture(i);
    damaged.set_data(string(5000, 'x'));
    records[i] = damaged.SerializeAsString();
  }
  Write("half", records);
  const string divided = Divided(Database("half", kCrops), 2);
  const layrub::Group group = layrub::ConnectThreads(std::vector<layrub::Device*>(2));
  {
    const DeviceGroupScope scope(group[0].get());
    const vector<vector<double>> own = Batches(divided, 2);
    for (size_t i = 0; i < own.size(); ++i) {
      const size_t half = whole[i].size() / 2;
      EXPECT_EQ(own[i], vector<double>(whole[i].begin(), whole[i].begin() + half)) << i;
    }
  }
  const DeviceGroupScope scope(group[1].get());
  EXPECT_NE(Error(divided, 2).find("'key104' holds an image that cannot be decoded"), string::npos);
}

TEST_F(DataThreads, EachBatchMayHaveAnotherShape) {
  std::filesystem::remove_all(folder_ + "raw");
  vector<string> records;
  for (int i = 0; i < 18; ++i) records.push_back(Raw(i / 9).SerializeAsString());
  Write("raw", records);
  for (int threads : {1, 4}) {
    const auto source = SetUp(Database("raw", ""), threads);
    for (int height : {40, 47, 40, 47}) {
      source->layer->Reshape(source->bottom, source->top);
      source->layer->Forward(source->bottom, source->top);
      EXPECT_EQ(source->top[0]->shape(), (vector<int>{9, 3, height, 50}));
    }
  }
}

TEST_F(DataThreads, NamesTheFirstOfSeveralDamagedRecords) {
  vector<string> records;
  for (int i = 0; i < kImages; ++i) {
    Datum datum = Picture(i);
    if (i == 11 || i == 13 || i == 14) datum.set_data(string(5000, 'x'));
    records.push_back(datum.SerializeAsString());
  }
  Write("damaged", records);
  for (int threads : {1, 2, 8}) {
    EXPECT_EQ(Error(Database("damaged", kCrops), threads),
              "Layer data (source " + folder_ +
                  "damaged): the record with key 'key111' holds an image that cannot be decoded.");
  }
}

TEST_F(DataThreads, NamesTheFirstOfSeveralMissingFiles) {
  for (int i : {12, 13, 14}) std::filesystem::remove(folder_ + std::to_string(i) + ".jpg");
  for (int threads : {1, 2, 8}) {
    EXPECT_EQ(Error(Files("ImageData", "", kCrops), threads),
              "Layer data: image 12.jpg (" + folder_ + "list:13) cannot be read.");
  }
}

TEST_F(DataThreads, NamesTheFirstImageOfAnotherSize) {
  for (int threads : {1, 2, 8}) {
    const string error = Error(Database("raw", ""), threads);
    EXPECT_NE(error.find("image key101 of 3 x 47 x 50 does not fit into a batch of shape 9 3 40"),
              string::npos)
        << error;
  }
}

TEST_F(DataThreads, SourceMayBeDestroyedWhileItsThreadsAreBusy) {
  for (int i = 0; i < 20; ++i) {
    const auto source = SetUp(Database("pictures", kCrops), 4);
    if (i % 2 == 0) source->layer->Forward(source->bottom, source->top);
  }
}

TEST_F(DataThreads, SourceReportsWhatItHasLoaded) {
  const auto source = SetUp(Database("pictures", kCrops), 2);
  for (int i = 0; i < 3; ++i) source->layer->Forward(source->bottom, source->top);
  const LoadedData loaded =
      dynamic_cast<BasePrefetchingDataLayer<double>&>(*source->layer).loaded();
  EXPECT_GE(loaded.images, 27);
  EXPECT_EQ(loaded.images % 9, 0);
  EXPECT_GT(loaded.seconds, 0);
}

}  // namespace
}  // namespace caffe

#else

#include <gtest/gtest.h>
TEST(DataThreads, NeedOpenCVAndADatabase) {
  GTEST_SKIP() << "a build without USE_OPENCV, or without LMDB and LevelDB";
}

#endif
