#include "caffe/layers/memory_data_layer.hpp"

#include <numeric>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace caffe {
namespace {

/// Batches of two images of 2 x 1 x 3.
class MemoryData : public testing::Test {
 protected:
  MemoryData() : case_(Layer("batch_size: 2"), {}, 2) {
    case_.SetUp();
    std::iota(pixels_.begin(), pixels_.end(), 0);
    std::iota(labels_.begin(), labels_.end(), 100);
  }
  static string Layer(const string& param) {
    return "name: 'memory' type: 'MemoryData' memory_data_param { channels: 2 height: 1 width: 3 " +
           param + " }";
  }
  MemoryDataLayer<double>& layer() { return dynamic_cast<MemoryDataLayer<double>&>(*case_.layer); }
  /// The labels of the images in the next batch. Checks that the pixels belong to them.
  vector<double> Batch() {
    case_.layer->Forward(case_.bottom, case_.top);
    const vector<double> labels = DataOf(*case_.top[1]);
    EXPECT_EQ(case_.top[0]->shape(), (vector<int>{static_cast<int>(labels.size()), 2, 1, 3}));
    for (int i = 0; i < case_.top[0]->count(); ++i) {
      EXPECT_EQ(case_.top[0]->cpu_data()[i], (labels[i / 6] - 100) * 6 + i % 6);
    }
    return labels;
  }

  LayerCase case_;
  vector<double> pixels_ = vector<double>(24);
  vector<double> labels_ = vector<double>(4);
};

TEST_F(MemoryData, GivesAllBatchesOverAndOver) {
  EXPECT_EQ(layer().batch_size(), 2);
  EXPECT_EQ(layer().channels(), 2);
  EXPECT_EQ(layer().height(), 1);
  EXPECT_EQ(layer().width(), 3);
  EXPECT_EQ(case_.top[1]->shape(), vector<int>{2});
  layer().Reset(pixels_.data(), labels_.data(), 4);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(Batch(), (vector<double>{100, 101}));
    EXPECT_EQ(Batch(), (vector<double>{102, 103}));
  }
  EXPECT_FALSE(case_.Traits().repeatable);
  EXPECT_EQ(case_.Traits().forward.writes.size(), 2u);
}

TEST_F(MemoryData, RestartsAfterReset) {
  layer().Reset(pixels_.data(), labels_.data(), 4);
  Batch();
  layer().Reset(pixels_.data() + 12, labels_.data() + 2, 2);
  EXPECT_EQ(Batch(), (vector<double>{102, 103}));
  EXPECT_EQ(Batch(), (vector<double>{102, 103}));
}

TEST_F(MemoryData, TakesAnotherBatchSize) {
  layer().set_batch_size(4);
  layer().Reset(pixels_.data(), labels_.data(), 4);
  EXPECT_EQ(Batch(), (vector<double>{100, 101, 102, 103}));
  layer().set_batch_size(1);
  EXPECT_EQ(Batch(), vector<double>{100});
  EXPECT_EQ(Batch(), vector<double>{101});
}

vector<Datum> Images(int n) {
  vector<Datum> images(n);
  for (int i = 0; i < n; ++i) {
    images[i].set_channels(2);
    images[i].set_height(1);
    images[i].set_width(3);
    images[i].set_label(100 + i);
    for (int k = 0; k < 6; ++k) images[i].add_float_data(static_cast<float>(6 * i + k));
  }
  return images;
}

TEST_F(MemoryData, KeepsTheImagesThatAreAdded) {
  layer().AddDatumVector(Images(4));
  EXPECT_EQ(Batch(), (vector<double>{100, 101}));
  EXPECT_EQ(Batch(), (vector<double>{102, 103}));
  layer().AddDatumVector(Images(2));
  EXPECT_EQ(Batch(), (vector<double>{100, 101}));
}

TEST_F(MemoryData, TransformsTheImagesThatAreAdded) {
  LayerCase scaled(Layer("batch_size: 1") + " transform_param { scale: 10 mean_value: 1 }", {}, 2);
  scaled.SetUp();
  dynamic_cast<MemoryDataLayer<double>&>(*scaled.layer).AddDatumVector(Images(1));
  scaled.layer->Forward(scaled.bottom, scaled.top);
  EXPECT_EQ(DataOf(*scaled.top[0]), (vector<double>{-10, 0, 10, 20, 30, 40}));
}

#ifdef USE_OPENCV
TEST_F(MemoryData, TakesOpenCVImages) {
  vector<cv::Mat> images;
  for (int i = 0; i < 2; ++i) {
    images.emplace_back(1, 3, CV_8UC2);
    for (int k = 0; k < 6; ++k) {
      images[i].data[k] = static_cast<unsigned char>(6 * i + k % 2 * 3 + k / 2);
    }
  }
  layer().AddMatVector(images, {100, 101});
  EXPECT_EQ(Batch(), (vector<double>{100, 101}));
  EXPECT_ERROR(layer().AddMatVector(images, {1}), "Layer memory: each image needs one label");
}
#endif

#ifdef USE_OPENCV
TEST_F(MemoryData, TransformsOpenCVAndEncodedImagesThatAreAdded) {
  LayerCase cropped(
      "type: 'MemoryData' memory_data_param { batch_size: 1 channels: 3 height: 2 width: 2 } "
      "phase: TEST transform_param { crop_size: 2 scale: 0.5 mean_value: 1 }",
      {}, 2);
  cropped.SetUp();
  cv::Mat image(4, 4, CV_8UC3);
  for (int i = 0; i < 48; ++i) image.data[i] = static_cast<unsigned char>(i);
  vector<unsigned char> bytes;
  ASSERT_TRUE(cv::imencode(".png", image, bytes));
  Datum datum;
  datum.set_encoded(true);
  datum.set_data(bytes.data(), bytes.size());
  datum.set_label(8);
  auto& layer = dynamic_cast<MemoryDataLayer<double>&>(*cropped.layer);
  for (const double label : {7, 8}) {
    label == 7 ? layer.AddMatVector({image}, {7}) : layer.AddDatumVector({datum});
    layer.Forward(cropped.bottom, cropped.top);
    EXPECT_EQ(DataOf(*cropped.top[1]), vector<double>{label});
    for (int i = 0; i < 12; ++i) {
      const int pixel = 12 * (1 + i / 2 % 2) + 3 * (1 + i % 2) + i / 4;
      EXPECT_EQ(cropped.top[0]->cpu_data()[i], (pixel - 1) * 0.5);
    }
  }
}
#endif

TEST_F(MemoryData, RejectsIncompleteBatches) {
  EXPECT_ERROR(Batch(),
               "Layer memory: MemoryDataLayer needs to be initialized by calling Reset, "
               "AddDatumVector or AddMatVector, or from Python net.set_input_arrays");
  EXPECT_ERROR(layer().Reset(pixels_.data(), labels_.data(), 3),
               "Layer memory: n must be a multiple of batch size .2., not 3");
  EXPECT_ERROR(layer().Reset(nullptr, labels_.data(), 2), "Layer memory: Reset needs data");
  EXPECT_ERROR(layer().AddDatumVector(Images(3)), "Layer memory: The added data, 3, must be a mul");
  EXPECT_ERROR(layer().AddDatumVector({}), "Layer memory: There is no datum to add");
  EXPECT_ERROR(layer().set_batch_size(0), "Layer memory: batch_size must be positive");
  layer().Reset(pixels_.data(), labels_.data(), 4);
  layer().set_batch_size(3);
  Batch();
  EXPECT_ERROR(Batch(), "Layer memory: batches of 3 do not fit the 4 images");
}

TEST_F(MemoryData, RejectsNewImagesBeforeTheOldOnesAreUsed) {
  layer().AddDatumVector(Images(4));
  Batch();
  EXPECT_ERROR(layer().AddDatumVector(Images(2)), "Layer memory: Can't add data until");
  EXPECT_ERROR(layer().set_batch_size(1), "Layer memory: Can't change batch_size until");
}

TEST_F(MemoryData, NamesTheFieldThatIsMissing) {
  LayerCase none(Layer(""), {}, 2);
  EXPECT_ERROR(none.SetUp(), "Layer memory: .*batch_size is 0");
}

}  // namespace
}  // namespace caffe
