// The program score_segmentation: how well a net tells the class of each pixel.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "../../tools/shared/start.hpp"
#include "caffe/net.hpp"

namespace {

constexpr tools::Help kHelp = {
    "score_segmentation", "MODEL WEIGHTS BATCHES [SCORE [LABEL]]",
    R"(Runs the test net of the prototxt MODEL with the trained WEIGHTS on BATCHES batches, and compares the
blob SCORE ("score"), a plane for each class, with the blob LABEL ("label"), the class of each pixel.
Prints four numbers (Long, Shelhamer and Darrell, 2015):

  pixel accuracy     share of the pixels that are right
  mean accuracy      that share of the pixels of each class, averaged over classes
  mean IU            pixels of a class that are right, of all that are or are said to be of that class,
                     averaged over classes
  IU of each class)"};

using Counts = std::vector<std::vector<int64_t>>;  ///< [class][class that was said]

/// Adds the pixels of a batch.
void Count(const caffe::Blob<float>& score, const caffe::Blob<float>& label, Counts* counts) {
  const int classes = score.shape(1), pixels = score.count(2);
  CHECK_EQ(label.count(), score.shape(0) * pixels) << "SCORE and LABEL have different sizes.";
  counts->resize(classes, std::vector<int64_t>(classes));
  for (int i = 0; i < label.count(); ++i) {
    const float* const first = score.cpu_data() + (i / pixels) * classes * pixels + i % pixels;
    int best = 0;
    for (int k = 1; k < classes; ++k)
      if (first[k * pixels] > first[best * pixels]) best = k;
    const int is = static_cast<int>(label.cpu_data()[i]);
    CHECK(is >= 0 && is < classes)
        << "A pixel has label " << is << "; there are " << classes << " classes.";
    ++(*counts)[is][best];
  }
}

double Share(int64_t part, int64_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

/// Classes that no pixel has, and that none is said to have, do not count.
void Print(const Counts& counts) {
  int64_t right = 0, all = 0;
  double accuracies = 0, unions = 0;
  int classes = 0, met = 0;
  std::vector<std::string> lines;
  for (size_t k = 0; k < counts.size(); ++k) {
    int64_t are = 0, said = 0;
    for (size_t other = 0; other < counts.size(); ++other) {
      are += counts[k][other];
      said += counts[other][k];
    }
    right += counts[k][k];
    all += are;
    if (are + said == 0) continue;
    const double iu = Share(counts[k][k], are + said - counts[k][k]);
    unions += iu;
    ++met;
    lines.push_back("IU of class " + std::to_string(k) + " = " + std::to_string(iu));
    if (are == 0) continue;
    accuracies += Share(counts[k][k], are);
    ++classes;
  }
  std::cout << "pixel accuracy = " << std::to_string(Share(right, all)) << "\n"
            << "mean accuracy = " << std::to_string(accuracies / classes) << "\n"
            << "mean IU = " << std::to_string(unions / met) << "\n";
  for (const std::string& line : lines) std::cout << line << "\n";
}

const caffe::Blob<float>& Named(const std::string& name, const caffe::Net<float>& net) {
  CHECK(net.has_blob(name)) << "The net has no blob '" << name << "'.";
  return *net.blob_by_name(name);
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_minloglevel = google::GLOG_WARNING;
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 3, 5)) return *code;
  const int batches = std::atoi(argv[3]);
  CHECK_GT(batches, 0) << "BATCHES must be a number, not " << argv[3] << ".";
  caffe::Net<float> net(argv[1], caffe::TEST);
  net.CopyTrainedLayersFrom(argv[2]);
  const caffe::Blob<float>& score = Named(argc > 4 ? argv[4] : "score", net);
  const caffe::Blob<float>& label = Named(argc > 5 ? argv[5] : "label", net);
  CHECK_GE(score.num_axes(), 3) << "SCORE must have a plane for each class.";
  Counts counts;
  for (int i = 0; i < batches; ++i) {
    net.Forward();
    Count(score, label, &counts);
  }
  Print(counts);
  return 0;
}
