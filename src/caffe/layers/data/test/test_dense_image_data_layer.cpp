#include "caffe/layers/dense_image_data_layer.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/source_shapes.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/io.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>

namespace caffe {
namespace {

/// A folder with images a0.png, a1.png, a2.png of 4 x 6 and their labels l0.png, ...: pixel (h, w)
/// of image i has the values 50 * i + 10 * h + w, and so has its label.
class DenseImageData : public testing::Test {
 protected:
  DenseImageData() {
    MakeTempDir(&folder_);
    folder_ += "/";
    for (int i = 0; i < 3; ++i) {
      const cv::Mat labels = Labels(i, 4, 6);
      cv::Mat image;
      cv::merge(vector<cv::Mat>(3, labels), image);
      cv::imwrite(folder_ + "a" + std::to_string(i) + ".png", image);
      cv::imwrite(folder_ + "l" + std::to_string(i) + ".png", labels);
    }
    WriteList("a0.png l0.png\na1.png  l1.png\n\na2.png\tl2.png\n");
  }
  ~DenseImageData() override { std::filesystem::remove_all(folder_); }

  static cv::Mat Labels(int image, int rows, int columns) {
    cv::Mat labels(rows, columns, CV_8UC1);
    for (int h = 0; h < rows; ++h) {
      for (int w = 0; w < columns; ++w)
        labels.at<uchar>(h, w) = static_cast<uchar>(50 * image + 10 * h + w);
    }
    return labels;
  }
  void WriteList(const string& text) const { std::ofstream(folder_ + "list") << text; }
  string Source(const string& param, const string& more = "") const {
    return "name: 'dense' type: 'DenseImageData' dense_image_data_param { root_folder: '" +
           folder_ + "' source: '" + folder_ + "list' " + param + " } " + more;
  }
  void ExpectError(const string& text, const string& message) const {
    LayerCase bad(text, {}, 2);
    const auto run = [&] {
      bad.SetUp();
      bad.layer->Forward(bad.bottom, bad.top);
    };
    EXPECT_ERROR(run(), message);
  }

  string folder_;
};

TEST_F(DenseImageData, GivesImagesAndTheClassesOfTheirPixels) {
  LayerCase layer(Source("batch_size: 2", "transform_param { scale: 0.5 mean_value: 1 }"), {}, 2);
  layer.SetUp();
  EXPECT_EQ(layer.top[0]->shape(), (vector<int>{2, 3, 4, 6}));
  EXPECT_EQ(layer.top[1]->shape(), (vector<int>{2, 1, 4, 6}));
  for (int item = 0; item < 6; ++item) {
    if (item % 2 == 0) layer.layer->Forward(layer.bottom, layer.top);
    for (int i = 0; i < 24; ++i) {
      const int value = 50 * (item % 3) + 10 * (i / 6) + i % 6;
      EXPECT_EQ(layer.top[1]->cpu_data()[item % 2 * 24 + i], value);
      EXPECT_EQ(layer.top[0]->cpu_data()[item % 2 * 72 + 24 + i], (value - 1) / 2.);
    }
  }
  EXPECT_FALSE(layer.Traits().repeatable);
}

/// Here an image has the values of its labels, and keeps them when both are cropped and mirrored.
TEST_F(DenseImageData, DoesTheSameToAnImageAndItsLabels) {
  const string crop = "crop_height: 3 crop_width: 2 mirror: true";
  for (const string& text :
       {Source("shuffle: true " + crop), Source("is_color: false " + crop, "phase: TEST"),
        Source("shuffle: true", "transform_param { mirror: true crop_size: 2 }"),
        Source("new_height: 8 new_width: 12 mirror: true", "transform_param { crop_size: 3 }")}) {
    if (text.find("new_height") != string::npos) {  // of one colour, so that nothing is blended
      for (int i = 0; i < 3; ++i) {
        const cv::Mat even(4, 6, CV_8UC1, cv::Scalar(i + 1));
        cv::imwrite(folder_ + "a" + std::to_string(i) + ".png", even);
        cv::imwrite(folder_ + "l" + std::to_string(i) + ".png", even);
      }
    }
    LayerCase layer(text, {}, 2);
    layer.SetUp();
    std::set<vector<double>> seen;
    for (int pass = 0; pass < 30; ++pass) {
      layer.layer->Forward(layer.bottom, layer.top);
      const vector<double> labels = DataOf(*layer.top[1]);
      vector<double> image = DataOf(*layer.top[0]);
      image.resize(labels.size());
      EXPECT_EQ(image, labels) << text;
      seen.insert(labels);
    }
    EXPECT_GE(seen.size(), 3u) << text;
  }
}

TEST_F(DenseImageData, CanBePlannedWithoutItsData) {
  LayerParameter param = ParseLayer(
      "type: 'DenseImageData' top: 'x' top: 'y' dense_image_data_param { source: 'none' "
      "batch_size: 2 new_height: 4 new_width: 6 crop_height: 3 crop_width: 5 }");
  EXPECT_EQ(SourceTopShapes(param, DataShapes()),
            (vector<vector<int>>{{2, 3, 3, 5}, {2, 1, 3, 5}}));
  SetSourceBatch(7, &param);
  EXPECT_EQ(SourceTopShapes(param, DataShapes())[1], (vector<int>{7, 1, 3, 5}));
  LayerParameter here = ParseLayer("top: 'x' top: 'y' " + Source("batch_size: 2"));
  EXPECT_EQ(SourceTopShapes(here, DataShapes()), (vector<vector<int>>{{2, 3, 4, 6}, {2, 1, 4, 6}}));
}

TEST_F(DenseImageData, RejectsTransformationsThatLabelsCannotFollow) {
  ExpectError(Source("", "transform_param { resize_param { height: 2 width: 2 } }"),
              "Layer dense: labels cannot follow an image");
  ExpectError(Source("crop_height: 2"), "crop_h and crop_w must be set together");
  WriteList("a0.png l0.png\na1.png\n");
  ExpectError(Source(""), "list:2: a line is .image label., two paths");
  WriteList("a0.png nothing.png\n");
  ExpectError(Source(""), "image a0.png .*list:1.: its label nothing.png cannot be read");
  cv::imwrite(folder_ + "l0.png", Labels(0, 4, 5));
  WriteList("a0.png l0.png\n");
  ExpectError(Source(""), "its label l0.png of 4 x 5 has another size");
}

}  // namespace
}  // namespace caffe

#endif
