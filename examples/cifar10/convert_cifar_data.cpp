// The program convert_cifar_data: the images of CIFAR-10 as databases for Data layers.
#include <cstdint>
#include <string>

#include "../shared/make_data.hpp"
#include "layrub/base/input.hpp"

namespace {

constexpr tools::Help kHelp = {
    "convert_cifar_data", "INPUT_FOLDER OUTPUT_FOLDER DB_TYPE",
    R"(Reads the binary version of CIFAR-10, data_batch_1.bin to data_batch_5.bin and test_batch.bin in
INPUT_FOLDER, and makes the databases cifar10_train_DB_TYPE and cifar10_test_DB_TYPE in
OUTPUT_FOLDER. DB_TYPE is lmdb or leveldb.

A record of a file is a byte 0 to 9, the label, and 32 x 32 red, green and blue pixels, plane by
plane. A file may have any number of records.)"};

constexpr int kSide = 32, kChannels = 3, kLabels = 10, kTrainFiles = 5;
constexpr size_t kPixels = size_t{kSide} * kSide * kChannels, kRecord = 1 + kPixels;

void Convert(const std::string& path, examples::NumberedRecords* records) {
  const layrub::Result<std::string> bytes = layrub::ReadText(path);
  CHECK(bytes.ok()) << bytes.status().message;
  const std::string& text = bytes.value();
  CHECK(!text.empty() && text.size() % kRecord == 0)
      << path << ": it has " << text.size() << " bytes; a file of CIFAR-10 has records of "
      << kRecord << " bytes.";
  for (size_t at = 0; at < text.size(); at += kRecord) {
    const int label = static_cast<uint8_t>(text[at]);
    CHECK_LT(label, kLabels) << path << ": record " << at / kRecord << " has label " << label
                             << "; the labels of CIFAR-10 are 0 to 9.";
    caffe::Datum image = examples::Image(kChannels, kSide, kSide, label);
    image.set_data(text.substr(at + 1, kPixels));
    records->Put(image);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 3, 3)) return *code;
  const std::string input = argv[1], output = argv[2], type = argv[3];
  examples::NumberedRecords train(output + "/cifar10_train_" + type, type);
  for (int i = 1; i <= kTrainFiles; ++i)
    Convert(input + "/data_batch_" + std::to_string(i) + ".bin", &train);
  train.Finish();
  examples::NumberedRecords test(output + "/cifar10_test_" + type, type);
  Convert(input + "/test_batch.bin", &test);
  test.Finish();
  return 0;
}
