#include "caffe/layers/window_data_layer.hpp"

#include <filesystem>
#include <fstream>

#include "caffe/layers/data/window_file.hpp"
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

#ifdef USE_OPENCV

cv::Mat Image(int seed, int rows, int columns) {
  cv::Mat image(rows, columns, CV_8UC3);
  for (int i = 0; i < rows * columns * 3; ++i) {
    image.data[i] = static_cast<uchar>((seed + 31 * i + i * i / 7) % 256);
  }
  return image;
}

unsigned int Draw(unsigned int n) { return 7 * n / 3; }

/// A layer that draws Draw(0), Draw(1), ...
class CountingWindows : public WindowDataLayer<double> {
 public:
  using WindowDataLayer<double>::WindowDataLayer;
  ~CountingWindows() override { StopInternalThread(); }

 protected:
  unsigned int PrefetchRand() override { return Draw(draws_++); }

 private:
  unsigned int draws_ = 0;
};

struct Window {
  int image, label, x1, y1, x2, y2;
};
// The foreground and the background of the file below, at thresholds of 0.5 and 0.3.
const vector<Window> kForeground = {
    {0, 1, 2, 3, 9, 10}, {0, 2, 0, 0, 29, 19}, {1, 3, 5, 0, 15, 6}, {1, 1, 0, 9, 6, 15}};
const vector<Window> kBackground = {
    {0, 0, 20, 4, 29, 11}, {1, 0, 1, 1, 14, 15}, {1, 0, 3, 4, 3, 4}};
const char kWindows[] =
    "# 0\na.png\n3 20 30\n4\n"
    "1 0.9 2 3 9 10\n2 0.5 0 0 29 19\n4 0.4 1 1 3 3\n3 0.29 20 4 29 11\n"
    "# 1\nb.png\n3 16 16\n4\n"
    "3 0.7 5 0 15 6\n0 0 1 1 14 15\n0 0.1 3 4 3 4\n1 1 0 9 6 15\n";

/// A folder with images a.png and b.png and a file of their windows.
class WindowData : public testing::Test {
 protected:
  WindowData() {
    MakeTempDir(&folder_);
    folder_ += "/";
    images_ = {Image(5, 20, 30), Image(90, 16, 16)};
    cv::imwrite(folder_ + "a.png", images_[0]);
    cv::imwrite(folder_ + "b.png", images_[1]);
    WriteWindows(kWindows);
  }
  ~WindowData() override { std::filesystem::remove_all(folder_); }

  void WriteWindows(const string& text) const { std::ofstream(folder_ + "windows") << text; }
  string Layer(const string& param, const string& transform = "crop_size: 8") const {
    return "name: 'w' type: 'WindowData' window_data_param { root_folder: '" + folder_ +
           "' source: '" + folder_ + "windows' bg_threshold: 0.3 " + param +
           " } transform_param { " + transform + " }";
  }
  /// The crop by the definition of R-CNN, computed value by value.
  vector<double> Crop(const Window& window, int crop, int context, bool square, bool mirror) const {
    const cv::Mat& image = images_[window.image];
    int x1 = window.x1, y1 = window.y1, x2 = window.x2, y2 = window.y2;
    int left = 0, top = 0, width = crop, height = crop;
    if (context > 0 || square) {
      const double factor = double(crop) / (crop - 2 * context);
      double half_width = (x2 - x1 + 1) / 2.0, half_height = (y2 - y1 + 1) / 2.0;
      const double x = x1 + half_width, y = y1 + half_height;
      if (square) half_width = half_height = std::max(half_width, half_height);
      x1 = int(std::round(x - factor * half_width));
      x2 = int(std::round(x + factor * half_width));
      y1 = int(std::round(y - factor * half_height));
      y2 = int(std::round(y + factor * half_height));
      const double per_column = crop / (x2 - x1 + 1.0), per_row = crop / (y2 - y1 + 1.0);
      int right = 0;
      while (x1 < 0) ++x1, ++left;
      while (y1 < 0) ++y1, ++top;
      while (x2 >= image.cols) --x2, ++right;
      while (y2 >= image.rows) --y2;
      left = int(std::round((mirror ? right : left) * per_column));
      top = int(std::round(top * per_row));
      width = std::min(crop - left, int(std::round((x2 - x1 + 1) * per_column)));
      height = std::min(crop - top, int(std::round((y2 - y1 + 1) * per_row)));
    }
    cv::Mat warped;
    cv::resize(image.colRange(x1, x2 + 1).rowRange(y1, y2 + 1), warped, cv::Size(width, height));
    if (mirror) cv::flip(warped, warped, 1);
    vector<double> values(3 * crop * crop, 0);
    for (int i = 0; i < 3 * crop * crop; ++i) {
      const int c = i / (crop * crop), h = i / crop % crop - top, w = i % crop - left;
      if (h < 0 || h >= height || w < 0 || w >= width) continue;
      values[i] = warped.at<cv::Vec3b>(h, w)[c];
    }
    return values;
  }
  /// A batch of 3 background windows, then 2 of the foreground, drawn by CountingWindows.
  void ExpectCrops(const string& param, const string& transform, int crop, int context, bool square,
                   bool mirror) const {
    SCOPED_TRACE(param + transform);
    CountingWindows layer(ParseLayer(Layer("batch_size: 5 fg_fraction: 0.5 " + param, transform)));
    Blob<double> data, label;
    layer.SetUp({}, {&data, &label});
    EXPECT_EQ(data.shape(), (vector<int>{5, 3, crop, crop}));
    EXPECT_EQ(label.shape(), vector<int>{5});
    for (unsigned int item = 0, draws = 0; item < 30; ++item) {
      if (item % 5 == 0) layer.Forward({}, {&data, &label});
      const vector<Window>& windows = item % 5 < 3 ? kBackground : kForeground;
      const Window& window = windows[Draw(draws++) % windows.size()];
      const bool mirrored = mirror && Draw(draws++) % 2 == 1;
      const double* const values = data.cpu_data() + data.offset({static_cast<int>(item) % 5});
      EXPECT_EQ(label.cpu_data()[item % 5], window.label);
      EXPECT_EQ(vector<double>(values, values + data.count(1)),
                Crop(window, crop, context, square, mirrored))
          << "item " << item;
    }
  }
  vector<double> Batch(const string& layer) const {
    LayerCase one(layer, {}, 2);
    one.SetUp();
    one.layer->Forward(one.bottom, one.top);
    vector<double> values = DataOf(*one.top[1]);
    const vector<double> data = DataOf(*one.top[0]);
    values.insert(values.end(), data.begin(), data.end());
    return values;
  }
  void ExpectError(const string& layer, const string& message) const {
    EXPECT_ERROR(Batch(layer), message);
  }

  string folder_;
  vector<cv::Mat> images_;
};

TEST_F(WindowData, WarpsWindowsToTheCrop) {
  ExpectCrops("", "crop_size: 8", 8, 0, false, false);
  ExpectCrops("", "crop_size: 5 mirror: true", 5, 0, false, true);
}

TEST_F(WindowData, CopiesAWindowOfTheSizeOfTheCrop) {
  WriteWindows("# 0\na.png\n3 20 30\n1\n7 0.9 2 3 9 10\n");
  const vector<double> values = Batch(Layer("batch_size: 1 fg_fraction: 1"));
  ASSERT_EQ(values.size(), 1u + 3 * 64);
  EXPECT_EQ(values[0], 7);
  for (int i = 0; i < 3 * 64; ++i) {
    EXPECT_EQ(values[1 + i], images_[0].at<cv::Vec3b>(3 + i / 8 % 8, 2 + i % 8)[i / 64]);
  }
}

TEST_F(WindowData, GrowsWindowsBySquareAndContextWithZerosBeyondTheImage) {
  for (const bool mirror : {false, true}) {
    const string transform = mirror ? "crop_size: 9 mirror: true" : "crop_size: 9";
    ExpectCrops("crop_mode: 'square'", transform, 9, 0, true, mirror);
    ExpectCrops("context_pad: 2", transform, 9, 2, false, mirror);
    ExpectCrops("context_pad: 3 crop_mode: 'square'", transform, 9, 3, true, mirror);
  }
}

TEST_F(WindowData, ReadsCachedImagesFromMemory) {
  const string param = "batch_size: 4 context_pad: 1 cache_images: ";
  Caffe::set_random_seed(4);
  const vector<double> cached = Batch(Layer(param + "true"));
  Caffe::set_random_seed(4);
  EXPECT_EQ(Batch(Layer(param + "false")), cached);
}

TEST_F(WindowData, DrawsTheSameWindowsForASeed) {
  const string layer = Layer("batch_size: 8", "crop_size: 6 mirror: true");
  Caffe::set_random_seed(9);
  const vector<double> first = Batch(layer);
  EXPECT_NE(Batch(layer), first);
  Caffe::set_random_seed(9);
  EXPECT_EQ(Batch(layer), first);
}

TEST_F(WindowData, SubtractsTheMeanThenScales) {
  // One background window, over the right border of a.png; values beyond it stay 0.
  const string param = "batch_size: 1 fg_fraction: 0 context_pad: 2";
  WriteWindows("# 0\na.png\n3 20 30\n1\n0 0 22 6 29 13\n");
  const vector<double> plain = Batch(Layer(param));
  const auto expect = [&](const string& transform, double (*mean)(int c, int h, int w)) {
    const vector<double> values = Batch(Layer(param, "crop_size: 8 scale: 2 " + transform));
    int beyond = 0;
    for (int i = 0; i < 3 * 64; ++i) {
      const int h = i / 8 % 8, w = i % 8;
      beyond += w >= 6;
      EXPECT_EQ(values[1 + i], w >= 6 ? 0 : 2 * (plain[1 + i] - mean(i / 64, h, w))) << i;
    }
    EXPECT_EQ(beyond, 48);
  };
  expect("mean_value: 3", [](int, int, int) { return 3.; });
  expect("mean_value: 3 mean_value: 4 mean_value: 5", [](int c, int, int) { return 3. + c; });
  BlobProto mean;  // of 12 x 12
  mean.mutable_shape()->add_dim(1);
  for (int dim : {3, 12, 12}) mean.mutable_shape()->add_dim(dim);
  for (int i = 0; i < 3 * 144; ++i) mean.add_data(static_cast<float>(i));
  WriteProtoToBinaryFile(mean, folder_ + "mean");
  expect("mean_file: '" + folder_ + "mean'",
         [](int c, int h, int w) { return 144. * c + 12 * (2 + h) + 2 + w; });
}

TEST_F(WindowData, NamesFileAndImage) {
  const string layer = Layer("batch_size: 4");
  WriteWindows("# 0\nnone.png\n3 20 30\n1\n0 0 0 0 1 1\n");
  ExpectError(Layer("batch_size: 1 fg_fraction: 0"),
              "Layer w .*windows.: image # 0, .*none.png, ca");
  ExpectError(Layer("batch_size: 1 cache_images: true"),
              "Layer w: .*windows:2: .*none.png cannot be read");
  WriteWindows("# 0\na.png\n1 20 30\n0\n");
  ExpectError(layer, "Layer w: .*windows:2: .*a.png: windows are cut from images of 3 channels");
  WriteWindows("# 0\na.png\n3 20 30\n1\n0 0.7 0 0 1 1\n");
  ExpectError(layer, "Layer w: .*windows:2: .*a.png: a foreground window has label 0");
  WriteWindows("# 0\na.png\n3 20 30\n1\n0 0.1 25 0 30 1\n");
  ExpectError(Layer("batch_size: 1 fg_fraction: 0"),
              "the window 25 0 30 1 does not lie in image # 0, .*a.png of 20 x 30");
}

TEST_F(WindowData, TakesPathsWithBlanks) {
  const string path = folder_ + "my pictures/a b.png";
  std::filesystem::create_directory(folder_ + "my pictures");
  std::filesystem::copy(folder_ + "a.png", path);
  for (const string line : {"\n  my pictures/a b.png \t\r\n3\n20\n30\n", " a.png 3 20 30 "}) {
    WriteWindows("# 0" + line + "1\n1 0.9 0 0 9 9\n");
    const vector<WindowedImage> images = ReadWindowFile(folder_ + "windows", "");
    ASSERT_EQ(images.size(), 1u);
    EXPECT_EQ(images[0].path, line[0] == '\n' ? "my pictures/a b.png" : "a.png");
    EXPECT_EQ(images[0].width, 30);
    EXPECT_EQ(images[0].windows.size(), 1u);
  }
}

TEST_F(WindowData, NamesTheLineOfABadFile) {
  const string layer = Layer("batch_size: 4");
  WriteWindows("# 0\na.png\n3 20 30\n2\n0 0.7 0 0 1 1\n");
  ExpectError(layer, "Layer w: .*windows:5: the file ends where the label of a window should be");
  WriteWindows("# 0\na.png\n3 20 wide\n");
  ExpectError(layer, "Layer w: .*windows:3: this is not the width of an image");
  WriteWindows("# 0\na.png\n3 20 30\n0\n1 0.7 0 0 1 1\n");
  ExpectError(layer, "Layer w: .*windows:5: an image must begin with .# index.");
  WriteWindows("# 0\na.png\n3 20 30\n1\n1 0.7 5 0 4 1\n");
  ExpectError(layer, "Layer w: .*windows:5: the second corner of a window must be right of");
  WriteWindows("# 0\na.png\n3 20 30\n1\n1 0.7 0 0 2147483647 1\n");
  ExpectError(layer, "Layer w: .*windows:5: 2147483647 is out of range for the corner of a window");
  WriteWindows("");
  ExpectError(layer, "Layer w: the window file .*windows names no image");
  std::filesystem::remove(folder_ + "windows");
  ExpectError(layer, "Layer w: cannot open the window file .*windows");
}

TEST_F(WindowData, NamesTheLayerOfABadParameter) {
  ExpectError(Layer(""), "Layer w .*batch_size must be");
  ExpectError(Layer("batch_size: 4", ""), "Layer w .*crop_size of transform_param must be");
  ExpectError(Layer("batch_size: 4 context_pad: 4"), "Layer w .*context_pad on both sides leaves");
  ExpectError(Layer("batch_size: 4 crop_mode: 'round'"), "Layer w .*crop_mode is warp or square");
  ExpectError(Layer("batch_size: 4 fg_fraction: 2"), "Layer w .*fg_fraction must be from 0 to 1");
  ExpectError(Layer("batch_size: 4 fg_threshold: 1.5"), "Layer w .*no window is foreground");
  WriteWindows("# 0\na.png\n3 20 30\n1\n1 0.7 0 0 1 1\n");
  ExpectError(Layer("batch_size: 4"), "Layer w .*no window is background .*3 of each batch");
  WriteWindows(kWindows);
  ExpectError(Layer("batch_size: 4", "crop_size: 4 mean_value: 1 mean_value: 2"),
              "Layer w .*specify 1 mean_value or 3");
}

#else

TEST(WindowData, NeedsOpenCV) {
  LayerCase layer("name: 'w' type: 'WindowData' window_data_param { source: 'list' }", {}, 2);
  EXPECT_ERROR(layer.SetUp(), "Layer w: WindowData reads images, which needs .* USE_OPENCV");
}

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
