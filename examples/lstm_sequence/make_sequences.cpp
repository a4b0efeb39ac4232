// The program make_sequences: a text as sequences for an LSTM to learn.
#include <string>
#include <vector>

#include "../shared/make_data.hpp"
#include "characters.hpp"
#include "layrub/base/input.hpp"

namespace {

constexpr tools::Help kHelp = {
    "make_sequences", "TEXT FOLDER",
    R"(Writes sequences_train.h5 and sequences_test.h5 into FOLDER, in place of files that are there: pieces
of 40 characters of the file TEXT, which begin in other places in one than in the other. Letters,
blanks, dots and commas are known; capitals count as small letters.

A file has 16 columns, each with pieces one below the other. "data" is the number of a character,
"target" that of the one which follows, "cont" is 0 where a piece begins, else 1.)"};

constexpr int kLength = 40, kColumns = 16, kTrainPieces = 8, kTestPieces = 2;

std::vector<int> Read(const std::string& path) {
  const layrub::Result<std::string> text = layrub::ReadText(path);
  CHECK(text.ok()) << text.status().message;
  std::vector<int> numbers;
  int line = 1;
  for (char character : text.value()) {
    numbers.push_back(examples::NumberOf(character));
    CHECK_GE(numbers.back(), 0) << path << ":" << line << ": '" << character
                                << "' is no letter, blank, dot or comma.";
    line += character == '\n' ? 1 : 0;
  }
  return numbers;
}

/// Pieces that begin at even distances over all the text, the first one at `first`.
void Write(const std::string& path, const std::vector<int>& text, int pieces, int first) {
  const std::vector<int> shape = {pieces * kLength, kColumns};
  caffe::Blob<float> data(shape), target(shape), cont(shape);
  const int begins = static_cast<int>(text.size()) - kLength - first;
  for (int piece = 0; piece < pieces; ++piece) {
    for (int column = 0; column < kColumns; ++column) {
      const int number = piece * kColumns + column;
      const int begin =
          first + static_cast<int>(int64_t{number} * begins / (int64_t{pieces} * kColumns));
      for (int i = 0; i < kLength; ++i) {
        const int at = (piece * kLength + i) * kColumns + column;
        data.mutable_cpu_data()[at] = static_cast<float>(text[begin + i]);
        target.mutable_cpu_data()[at] = static_cast<float>(text[begin + i + 1]);
        cont.mutable_cpu_data()[at] = i == 0 ? 0 : 1;
      }
    }
  }
  examples::WriteHdf5(path, {{"data", &data}, {"target", &target}, {"cont", &cont}});
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 2, 2)) return *code;
  const std::string source = argv[1], folder = argv[2];
  const std::vector<int> text = Read(source);
  CHECK_GT(text.size(), size_t{2} * kLength)
      << source << ": it has " << text.size() << " characters; more than " << 2 * kLength
      << " are needed.";
  Write(folder + "/sequences_train.h5", text, kTrainPieces, 0);
  Write(folder + "/sequences_test.h5", text, kTestPieces, 2);
  return 0;
}
