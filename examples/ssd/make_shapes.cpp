// Makes the databases of the SSD example:
//   make_shapes FOLDER
// writes FOLDER/shapes_train_lmdb (400 images) and FOLDER/shapes_test_lmdb (100), which must not
// exist yet: records of AnnotatedDatum, noise of 64 x 64 pixels with one to three rectangles
// (label 1) and ellipses (label 2) that do not touch. Every machine gets the same ones.
#include <glog/logging.h>

#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "../shared/make_data.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/blas_memory.hpp"
#include "caffe/util/failure.hpp"
#include "layrub/base/standard_streams.hpp"

namespace {

constexpr unsigned int kSeed = 2016;
constexpr int kTrain = 400, kTest = 100;
constexpr int kSide = 64, kLeast = 14, kMost = 34;
constexpr int kRectangle = 1, kEllipse = 2;

/// Pixels [left, right) x [top, bottom).
struct Shape {
  int label, left, top, right, bottom;

  bool Touches(const Shape& other) const {
    return left <= other.right && other.left <= right && top <= other.bottom && other.top <= bottom;
  }
  bool Covers(int x, int y) const {
    if (x < left || x >= right || y < top || y >= bottom) return false;
    if (label == kRectangle) return true;
    const double dx = (2 * x + 1 - left - right) / static_cast<double>(right - left);
    const double dy = (2 * y + 1 - top - bottom) / static_cast<double>(bottom - top);
    return dx * dx + dy * dy <= 1;
  }
};

class Painter {
 public:
  caffe::AnnotatedDatum Record() {
    const std::vector<Shape> shapes = Shapes();
    caffe::AnnotatedDatum record;
    caffe::Datum* datum = record.mutable_datum();
    datum->set_channels(3);
    datum->set_height(kSide);
    datum->set_width(kSide);
    for (int channel = 0; channel < 3; ++channel) {
      std::vector<int> colors;
      for (size_t i = 0; i < shapes.size(); ++i) colors.push_back(From(140, 255));
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          int pixel = From(0, 110);
          for (size_t i = 0; i < shapes.size(); ++i)
            if (shapes[i].Covers(x, y)) pixel = colors[i];
          datum->mutable_data()->push_back(static_cast<char>(pixel));
        }
      }
    }
    for (int label : {kRectangle, kEllipse}) {
      caffe::AnnotationGroup* group = record.add_annotation_group();
      group->set_group_label(label);
      for (const Shape& shape : shapes) {
        if (shape.label != label) continue;
        caffe::NormalizedBBox* box = group->add_annotation()->mutable_bbox();
        box->set_xmin(static_cast<float>(shape.left) / kSide);
        box->set_ymin(static_cast<float>(shape.top) / kSide);
        box->set_xmax(static_cast<float>(shape.right) / kSide);
        box->set_ymax(static_cast<float>(shape.bottom) / kSide);
      }
    }
    return record;
  }

 private:
  /// Of a generator whose numbers the C++ standard fixes, unlike those of its distributions.
  int From(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }

  std::vector<Shape> Shapes() {
    std::vector<Shape> shapes;
    const int wanted = From(1, 3);
    for (int trial = 0; trial < 50 && static_cast<int>(shapes.size()) < wanted; ++trial) {
      const int width = From(kLeast, kMost), height = From(kLeast, kMost);
      const int left = From(0, kSide - width), top = From(0, kSide - height);
      const Shape shape = {From(kRectangle, kEllipse), left, top, left + width, top + height};
      bool free = true;
      for (const Shape& other : shapes) free = free && !shape.Touches(other);
      if (free) shapes.push_back(shape);
    }
    return shapes;
  }

  std::mt19937 random_{kSeed};
};

void Write(int images, Painter* painter, examples::NumberedRecords* database) {
  for (int i = 0; i < images; ++i) database->Put(painter->Record());
  database->Finish("images");
}

}  // namespace

int main(int argc, char** argv) {
  layrub::GuardStandardStreams("make_shapes");
  caffe::FitBlasIntoAddressSpace(argv);
  google::InitGoogleLogging(argv[0]);
  caffe::ExitOnFailure(1);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  if (argc != 2) {
    std::cerr << "make_shapes: usage: make_shapes FOLDER" << std::endl;
    return 1;
  }
  Painter painter;
  const std::string folder = argv[1];
  // Both are made before either is written: where one cannot be, none stays.
  examples::NumberedRecords train(folder + "/shapes_train_lmdb"),
      test(folder + "/shapes_test_lmdb");
  Write(kTrain, &painter, &train);
  Write(kTest, &painter, &test);
  return 0;
}
