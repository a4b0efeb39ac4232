// The program make_scenes: images of shapes, with the class of each pixel.
#include <cmath>
#include <string>

#include "../shared/make_data.hpp"

namespace {

constexpr tools::Help kHelp = {
    "make_scenes", "FOLDER",
    R"(Makes the LMDBs scenes_train_images_lmdb and scenes_train_labels_lmdb (300 records each), and
scenes_test_images_lmdb and scenes_test_labels_lmdb (60), in FOLDER. They must not be there yet.

An image has 3 x 48 x 48 pixels: shapes of any colour on dark noise. A record of labels has one byte
a pixel: 0 nothing, 1 a rectangle, 2 a disc, 3 a triangle. Both have the same keys in the same
order. They are the same images each time.)"};

constexpr unsigned int kSeed = 2015;
constexpr int kTrain = 300, kTest = 60;
constexpr int kSide = 48, kChannels = 3, kLeastRadius = 7, kMostRadius = 13, kMostShapes = 3;
constexpr int kRectangle = 1, kDisc = 2, kTriangle = 3;

struct Shape {
  int label, x, y, radius;
  int colour[kChannels];

  bool Covers(int px, int py) const {
    const int dx = px - x, dy = py - y;
    if (std::abs(dx) > radius || std::abs(dy) > radius) return false;
    if (label == kDisc) return dx * dx + dy * dy <= radius * radius;
    if (label == kTriangle) return 2 * std::abs(dx) <= dy + radius;
    return true;
  }
};

class Scenes {
 public:
  Scenes(const std::string& path, int count, examples::Random* random) : random_(*random) {
    examples::NumberedRecords images(path + "_images_lmdb"), labels(path + "_labels_lmdb");
    for (int i = 0; i < count; ++i) {
      caffe::Datum image = examples::Image(kChannels, kSide, kSide, 0);
      caffe::Datum label = examples::Image(1, kSide, kSide, 0);
      Draw(&image, &label);
      images.Put(image);
      labels.Put(label);
    }
    images.Finish();
    labels.Finish();
  }

 private:
  /// What is drawn later lies above.
  void Draw(caffe::Datum* image, caffe::Datum* label) {
    std::vector<Shape> shapes(random_.From(1, kMostShapes));
    for (Shape& shape : shapes) {
      shape.label = random_.From(kRectangle, kTriangle);
      shape.x = random_.From(0, kSide - 1);
      shape.y = random_.From(0, kSide - 1);
      shape.radius = random_.From(kLeastRadius, kMostRadius);
      for (int& part : shape.colour) part = random_.From(90, 220);
    }
    std::vector<const Shape*> seen(kSide * kSide, nullptr);
    for (int i = 0; i < kSide * kSide; ++i)
      for (const Shape& shape : shapes)
        if (shape.Covers(i % kSide, i / kSide)) seen[i] = &shape;
    for (const Shape* shape : seen) examples::AddPixel(shape ? shape->label : 0, label);
    for (int channel = 0; channel < kChannels; ++channel)
      for (const Shape* shape : seen)
        examples::AddPixel(random_.From(0, 35) + (shape ? shape->colour[channel] : 20), image);
  }

  examples::Random& random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 1, 1)) return *code;
  const std::string folder = argv[1];
  examples::Random random(kSeed);
  Scenes(folder + "/scenes_train", kTrain, &random);
  Scenes(folder + "/scenes_test", kTest, &random);
  return 0;
}
