// Turns digits.csv into the databases of the digits example:
//   convert_digits digits.csv FOLDER
// writes FOLDER/digits_train_lmdb (1,500 images) and FOLDER/digits_test_lmdb (the rest), which must
// not exist yet. A row is 64 pixels 0..16 and a label 0..9. The rows are shuffled with a fixed
// seed, so that every machine gets the same split.
#include <glog/logging.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../shared/make_data.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/blas_memory.hpp"
#include "caffe/util/failure.hpp"
#include "layrub/base/input.hpp"
#include "layrub/base/standard_streams.hpp"

namespace {

constexpr unsigned int kSeed = 1797;
constexpr size_t kTrain = 1500;
constexpr int kSide = 8;
constexpr int kMaxPixel = 16;

[[noreturn]] void Fail(const std::string& message) {
  std::cerr << "convert_digits: " << message << std::endl;
  std::exit(1);
}

/// The numbers of one row, or a complaint that names the line.
caffe::Datum ParseRow(const std::string& file, int line, const std::string& row) {
  const std::string where = file + ":" + std::to_string(line);
  std::istringstream text(row);
  std::vector<int> numbers;
  for (int number; text >> number; text.ignore(1, ',')) numbers.push_back(number);
  if (!text.eof() || numbers.size() != kSide * kSide + 1) {
    Fail(where + ": a row must be 64 pixels and a label, separated by commas");
  }
  caffe::Datum datum;
  datum.set_channels(1);
  datum.set_height(kSide);
  datum.set_width(kSide);
  datum.set_label(numbers.back());
  numbers.pop_back();
  if (datum.label() < 0 || datum.label() > 9) Fail(where + ": the label must be 0 to 9");
  for (int pixel : numbers) {
    if (pixel < 0 || pixel > kMaxPixel) Fail(where + ": a pixel must be 0 to 16");
    datum.mutable_data()->push_back(static_cast<char>(pixel));
  }
  return datum;
}

std::vector<caffe::Datum> ReadRows(const std::string& file) {
  const layrub::Result<std::string> text = layrub::ReadText(file);
  if (!text.ok()) Fail(text.status().message);
  std::istringstream in(text.value());
  std::vector<caffe::Datum> rows;
  std::string row;
  for (int line = 1; std::getline(in, row); ++line) rows.push_back(ParseRow(file, line, row));
  if (rows.size() <= kTrain)
    Fail(file + ": more than 1500 rows are needed, there are " + std::to_string(rows.size()));
  return rows;
}

/// Fisher-Yates on a generator whose numbers the C++ standard fixes, unlike those of std::shuffle.
void Shuffle(std::vector<caffe::Datum>* rows) {
  std::mt19937 random(kSeed);
  for (size_t i = rows->size() - 1; i > 0; --i) std::swap((*rows)[i], (*rows)[random() % (i + 1)]);
}

void Write(const std::vector<caffe::Datum>& rows, size_t begin, size_t end,
           examples::NumberedRecords* database) {
  for (size_t i = begin; i < end; ++i) database->Put(rows[i]);
  database->Finish("images");
}

}  // namespace

int main(int argc, char** argv) {
  layrub::GuardStandardStreams("convert_digits");
  caffe::FitBlasIntoAddressSpace(argv);
  google::InitGoogleLogging(argv[0]);
  caffe::ExitOnFailure(1);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  if (argc != 3) Fail("usage: convert_digits digits.csv FOLDER");
  const std::string folder = argv[2];
  std::vector<caffe::Datum> rows = ReadRows(argv[1]);
  Shuffle(&rows);
  // Both are made before either is written: where one cannot be, none stays.
  examples::NumberedRecords train(folder + "/digits_train_lmdb"),
      test(folder + "/digits_test_lmdb");
  Write(rows, 0, kTrain, &train);
  Write(rows, kTrain, rows.size(), &test);
  return 0;
}
