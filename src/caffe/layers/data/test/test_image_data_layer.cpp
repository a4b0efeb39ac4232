#include "caffe/layers/image_data_layer.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/io.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#endif

namespace caffe {
namespace {

string Layer(const string& param, const string& more = "") {
  return "name: 'images' type: 'ImageData' image_data_param { " + param + " } " + more;
}

#ifdef USE_OPENCV

/// Channel c of pixel (h, w) of image `label`.
int Pixel(int label, int c, int h, int w) { return 40 * label + 10 * c + 3 * h + w; }

cv::Mat Image(int label, int rows, int columns) {
  cv::Mat image(rows, columns, CV_8UC3);
  for (int h = 0; h < rows; ++h) {
    for (int w = 0; w < columns; ++w) {
      for (int c = 0; c < 3; ++c)
        image.at<cv::Vec3b>(h, w)[c] = static_cast<uchar>(Pixel(label, c, h, w));
    }
  }
  return image;
}

/// A folder with images 0.png to 4.png of 3 x 4 and a list of them with their labels.
class ImageData : public testing::Test {
 protected:
  ImageData() {
    MakeTempDir(&folder_);
    folder_ += "/";
    for (int label = 0; label < 5; ++label) {
      cv::imwrite(folder_ + std::to_string(label) + ".png", Image(label, 3, 4));
    }
    WriteList("0.png 0\n1.png 1\n2.png 2\n3.png 3\n4.png 4\n");
  }
  ~ImageData() override { std::filesystem::remove_all(folder_); }

  void WriteList(const string& text) const { std::ofstream(folder_ + "list") << text; }
  string Source(const string& param, const string& more = "") const {
    return Layer("root_folder: '" + folder_ + "' source: '" + folder_ + "list' " + param, more);
  }
  /// The labels of `passes` batches.
  static vector<double> Labels(LayerCase* layer, int passes) {
    layer->SetUp();
    vector<double> labels;
    for (int pass = 0; pass < passes; ++pass) {
      layer->layer->Forward(layer->bottom, layer->top);
      const vector<double> more = DataOf(*layer->top[1]);
      labels.insert(labels.end(), more.begin(), more.end());
    }
    return labels;
  }
  vector<double> Labels(const string& param, int passes, const string& more = "") const {
    LayerCase layer(Source(param, more), {}, 2);
    return Labels(&layer, passes);
  }
  void ExpectError(const string& layer, const string& message) const {
    LayerCase bad(layer, {}, 2);
    EXPECT_ERROR(Labels(&bad, 1), message);
  }

  string folder_;
};

TEST_F(ImageData, ReadsTheListInOrderOverAndOver) {
  LayerCase layer(Source("batch_size: 3"), {}, 2);
  EXPECT_EQ(Labels(&layer, 4), (vector<double>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(layer.top[0]->shape(), (vector<int>{3, 3, 3, 4}));
  EXPECT_EQ(layer.top[1]->shape(), vector<int>{3});
  for (int n = 0; n < 3; ++n) {
    for (int i = 0; i < 36; ++i) {
      EXPECT_EQ(layer.top[0]->cpu_data()[36 * n + i], Pixel((4 + n) % 5, i / 12, i / 4 % 3, i % 4));
    }
  }
  EXPECT_FALSE(layer.Traits().repeatable);
}

TEST_F(ImageData, ReadsGrayImagesOfOneChannel) {
  LayerCase layer(Source("batch_size: 1 is_color: false"), {}, 2);
  Labels(&layer, 2);
  ASSERT_EQ(layer.top[0]->shape(), (vector<int>{1, 1, 3, 4}));
  const cv::Mat gray = cv::imread(folder_ + "1.png", cv::IMREAD_GRAYSCALE);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(layer.top[0]->cpu_data()[i], gray.data[i]);
}

TEST_F(ImageData, ResizesBeforeItTransforms) {
  cv::imwrite(folder_ + "0.png", Image(0, 7, 9));
  LayerCase layer(Source("batch_size: 2 new_height: 6 new_width: 8",
                         "phase: TEST transform_param { crop_size: 4 scale: 0.5 mean_value: 2 }"),
                  {}, 2);
  Labels(&layer, 1);
  ASSERT_EQ(layer.top[0]->shape(), (vector<int>{2, 3, 4, 4}));
  cv::Mat resized;
  cv::resize(Image(0, 7, 9), resized, cv::Size(8, 6));
  for (int i = 0; i < 48; ++i) {
    EXPECT_EQ(layer.top[0]->cpu_data()[i],
              (resized.at<cv::Vec3b>(1 + i / 4 % 4, 2 + i % 4)[i / 16] - 2) * 0.5);
  }
}

TEST_F(ImageData, ShufflesEachRoundAnewAndTheSameForASeed) {
  const auto rounds = [this] {
    Caffe::set_random_seed(11);
    return Labels("batch_size: 5 shuffle: true", 6);
  };
  const vector<double> labels = rounds();
  std::set<vector<double>> orders;
  for (int round = 0; round < 6; ++round) {
    vector<double> order(labels.begin() + 5 * round, labels.begin() + 5 * round + 5);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (vector<double>{0, 1, 2, 3, 4}));
  }
  EXPECT_GT(orders.size(), 2u);
  EXPECT_EQ(rounds(), labels);
}

TEST_F(ImageData, SkipsFewerThanRandSkipAtTheStart) {
  std::set<double> starts;
  for (int seed = 0; seed < 30; ++seed) {
    Caffe::set_random_seed(seed);
    const vector<double> labels = Labels("batch_size: 2 rand_skip: 4", 1);
    EXPECT_EQ(labels[1], labels[0] + 1);
    starts.insert(labels[0]);
  }
  EXPECT_EQ(starts, (std::set<double>{0, 1, 2, 3}));
}

TEST_F(ImageData, BatchesMayDifferInSize) {
  cv::imwrite(folder_ + "2.png", Image(2, 5, 2));
  LayerCase layer(Source("batch_size: 1"), {}, 2);
  Labels(&layer, 3);
  EXPECT_EQ(layer.top[0]->shape(), (vector<int>{1, 3, 5, 2}));
  EXPECT_EQ(layer.top[0]->cpu_data()[29], Pixel(2, 2, 4, 1));
}

TEST_F(ImageData, DividesTheListAmongTrainingSolvers) {
  Caffe::set_solver_count(2);
  Caffe::set_solver_rank(1);
  const vector<double> train = Labels("batch_size: 2", 2, "phase: TRAIN");
  const vector<double> test = Labels("batch_size: 2", 1, "phase: TEST");
  Caffe::set_solver_count(1);
  Caffe::set_solver_rank(0);
  EXPECT_EQ(train, (vector<double>{1, 3, 0, 2}));
  EXPECT_EQ(test, (vector<double>{0, 1}));
}

TEST_F(ImageData, NamesTheListAndTheLineOfABadImage) {
  WriteList("0.png 0\n\nno such.png 1\n");
  ExpectError(Source("batch_size: 2"), "Layer images: image no such.png .*list:3. cannot be read");
  std::ofstream(folder_ + "1.png") << "no image";
  WriteList("1.png 1\n");
  ExpectError(Source("batch_size: 1"), "Layer images: image 1.png .*list:1. cannot be read");
  cv::imwrite(folder_ + "2.png", Image(2, 5, 2));
  WriteList("0.png 0\n2.png 1\n");
  ExpectError(Source("batch_size: 2"), "image 2.png .*list:2. of 5 x 2 does not fit into a batch");
  ExpectError(Source("batch_size: 2", "transform_param { crop_size: 3 }"),
              "image 2.png .*list:2. of 5 x 2 is smaller than crop_size, 3");
}

TEST_F(ImageData, NamesTheLayerOfABadParameter) {
  ExpectError(Source("new_height: 3"), "Layer images: new_height and new_width must be set toge");
  ExpectError(Source("batch_size: 0"), "Layer images: batch_size must be 1 to 2147483647");
  Caffe::set_random_seed(1);
  ExpectError(Source("rand_skip: 4000000000"), "Layer images: rand_skip passes the end of .*list");
  ExpectError(Layer("source: 'nowhere'"), "Layer images: cannot open the image list nowhere");
  WriteList("");
  ExpectError(Source(""), "Layer images: the image list .* names no image");
}

#else

TEST(ImageData, NeedsOpenCV) {
  LayerCase layer(Layer("source: 'list'"), {}, 2);
  EXPECT_ERROR(layer.SetUp(), "Layer images: ImageData reads images, which needs .* USE_OPENCV");
}

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
