// The program make_parity: another question about the images of digits, odd or even?
#include <map>
#include <string>

#include "../shared/make_data.hpp"

namespace {

constexpr tools::Help kHelp = {
    "make_parity", "DIGITS PARITY [MOST]",
    R"(Makes the new LMDB PARITY of the images of the LMDB DIGITS, at most MOST for each label, in their
order. A label that is odd becomes 1, one that is even 0.)"};

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 2, 3)) return *code;
  const int most = argc == 4 ? std::atoi(argv[3]) : INT32_MAX;
  CHECK_GT(most, 0) << "MOST must be a number of images, not " << argv[3] << ".";
  const std::vector<caffe::Datum> digits = examples::ReadImages(argv[1]);
  examples::NumberedRecords records(argv[2]);
  std::map<int, int> taken;
  for (caffe::Datum image : digits) {
    if (++taken[image.label()] > most) continue;
    image.set_label(image.label() % 2 == 0 ? 0 : 1);
    records.Put(image);
  }
  records.Finish();
  return 0;
}
