// The program make_points: points of two classes, as HDF5 files.
#include <string>

#include "../shared/make_data.hpp"

namespace {

constexpr tools::Help kHelp = {
    "make_points", "FOLDER",
    R"(Writes points_train.h5 (2,000 points) and points_test.h5 (500) into FOLDER, in place of files that
are there. The dataset "data" has four features, between -1 and 1, of each point, "label" is 1 where
0.8 a + b * b > 0.3 of the first two, a and b, else 0; the other two mean nothing. They are the same
points each time.)"};

constexpr unsigned int kSeed = 1958;
constexpr int kTrain = 2000, kTest = 500, kFeatures = 4;

void Write(const std::string& path, int points, examples::Random* random) {
  caffe::Blob<float> data({points, kFeatures}), label({points});
  for (int i = 0; i < points; ++i) {
    float* const features = data.mutable_cpu_data() + i * kFeatures;
    for (int k = 0; k < kFeatures; ++k) features[k] = random->Share();
    const bool inside = 0.8f * features[0] + features[1] * features[1] > 0.3f;
    label.mutable_cpu_data()[i] = inside ? 1 : 0;
  }
  examples::WriteHdf5(path, {{"data", &data}, {"label", &label}});
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 1, 1)) return *code;
  examples::Random random(kSeed);
  const std::string folder = argv[1];
  Write(folder + "/points_train.h5", kTrain, &random);
  Write(folder + "/points_test.h5", kTest, &random);
  return 0;
}
