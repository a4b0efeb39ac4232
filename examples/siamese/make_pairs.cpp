// The program make_pairs: pairs of images for a siamese net.
#include <map>
#include <string>
#include <vector>

#include "../shared/make_data.hpp"

namespace {

using caffe::Datum;

constexpr tools::Help kHelp = {
    "make_pairs", "IMAGES PAIRS COUNT",
    R"(Makes the new LMDB PAIRS of COUNT pairs of images of the LMDB IMAGES. A record holds both images,
one's channels after the other's. Every second one has two images with one label, and label 1; the
others have two with different labels, and label 0. They are drawn in the same way each time.)"};

constexpr unsigned int kSeed = 1993;

Datum Pair(const Datum& first, const Datum& second) {
  Datum pair = examples::Image(first.channels() + second.channels(), first.height(), first.width(),
                               first.label() == second.label() ? 1 : 0);
  pair.set_data(first.data() + second.data());
  return pair;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 3, 3)) return *code;
  const std::string source = argv[1];
  const int count = std::atoi(argv[3]);
  CHECK_GT(count, 0) << "COUNT must be a number of pairs, not " << argv[3] << ".";
  const std::vector<Datum> images = examples::ReadImages(source);
  const int last = static_cast<int>(images.size()) - 1;
  std::map<int, std::vector<int>> of_label;
  for (int i = 0; i <= last; ++i) of_label[images[i].label()].push_back(i);
  CHECK_GT(of_label.size(), 1) << "Database " << source << " has one label only.";

  examples::Random random(kSeed);
  examples::NumberedRecords pairs(argv[2]);
  for (int i = 0; i < count; ++i) {
    const Datum& first = images[random.From(0, last)];
    const std::vector<int>& alike = of_label[first.label()];
    const Datum* second = &images[alike[random.From(0, static_cast<int>(alike.size()) - 1)]];
    while (i % 2 == 1 && second->label() == first.label()) second = &images[random.From(0, last)];
    pairs.Put(Pair(first, *second));
  }
  pairs.Finish();
  return 0;
}
