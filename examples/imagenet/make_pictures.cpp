// The program make_pictures: folders of images, for whoever has no ImageNet at hand.
#include <string>

#include "../../tools/shared/start.hpp"
#ifdef USE_OPENCV
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>
#include <vector>

#include "../shared/make_data.hpp"
#endif  // USE_OPENCV

namespace {

constexpr tools::Help kHelp = {
    "make_pictures", "FOLDER",
    R"(Draws PNG files of different sizes into FOLDER, a folder for each class: train/cross/0.png and so on,
40 of each class in train, 10 in val. The classes are cross, disc and stripes. They are the same
images each time.)"};

#ifdef USE_OPENCV
constexpr unsigned int kSeed = 2009;
constexpr int kTrain = 40, kVal = 10, kLeastSide = 72, kMostSide = 120;

cv::Scalar Colour(int least, int most, examples::Random* random) {
  return {1.0 * random->From(least, most), 1.0 * random->From(least, most),
          1.0 * random->From(least, most)};
}

cv::Point Centre(const cv::Mat& image, examples::Random* random) {
  return {image.cols / 2 + random->From(-8, 8), image.rows / 2 + random->From(-8, 8)};
}

void Cross(cv::Mat* image, examples::Random* random) {
  const cv::Scalar colour = Colour(130, 250, random);
  const cv::Point centre = Centre(*image, random);
  const int radius = random->From(18, 26), thick = random->From(7, 11);
  const cv::Point across(radius, 0), down(0, radius);
  cv::line(*image, centre - across, centre + across, colour, thick);
  cv::line(*image, centre - down, centre + down, colour, thick);
}

void Disc(cv::Mat* image, examples::Random* random) {
  const cv::Point centre = Centre(*image, random);
  const int radius = random->From(16, 26);
  cv::circle(*image, centre, radius, Colour(130, 250, random), cv::FILLED);
}

void Stripes(cv::Mat* image, examples::Random* random) {
  const cv::Scalar colour = Colour(130, 250, random);
  const int step = random->From(12, 18);
  for (int x = random->From(0, step); x < image->cols; x += step)
    cv::line(*image, {x, 0}, {x, image->rows}, colour, step / 2);
}

void Draw(const std::string& folder, int count, examples::Random* random) {
  using Drawing = std::function<void(cv::Mat*, examples::Random*)>;
  const std::vector<std::pair<std::string, Drawing>> classes = {
      {"cross", Cross}, {"disc", Disc}, {"stripes", Stripes}};
  for (const auto& [name, draw] : classes) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    std::filesystem::create_directories(path, error);
    CHECK(!error) << "Cannot make the folder " << path << ": " << error.message() << ".";
    for (int i = 0; i < count; ++i) {
      const int height = random->From(kLeastSide, kMostSide);
      const int width = random->From(kLeastSide, kMostSide);
      cv::Mat image(height, width, CV_8UC3, Colour(0, 60, random));
      draw(&image, random);
      std::for_each(image.data, image.data + image.total() * image.elemSize(), [&](uchar& value) {
        value = cv::saturate_cast<uchar>(value + random->From(-30, 30));
      });
      const std::string file = path + "/" + std::to_string(i) + ".png";
      CHECK(cv::imwrite(file, image)) << "Cannot write " << file << ".";
    }
  }
  std::cout << folder << ": " << count << " images of each of " << classes.size() << " classes"
            << std::endl;
}
#endif  // USE_OPENCV

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 1, 1)) return *code;
#ifdef USE_OPENCV
  const std::string folder = argv[1];
  examples::Random random(kSeed);
  Draw(folder + "/train", kTrain, &random);
  Draw(folder + "/val", kVal, &random);
  return 0;
#else
  LOG(FATAL) << "make_pictures writes images by OpenCV, which this build lacks (USE_OPENCV).";
#endif  // USE_OPENCV
}
