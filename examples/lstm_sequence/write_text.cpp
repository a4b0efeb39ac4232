// The program write_text: a trained LSTM goes on with a text.
#include <algorithm>
#include <iostream>
#include <string>

#include "../../tools/shared/start.hpp"
#include "caffe/net.hpp"
#include "characters.hpp"

namespace {

constexpr tools::Help kHelp = {
    "write_text", "DEPLOY WEIGHTS BEGINNING COUNT",
    R"(Reads BEGINNING, character by character, with the net of the prototxt DEPLOY and the trained WEIGHTS,
and writes it with the COUNT characters that the net thinks follow.)"};

/// The character that most likely follows; the net remembers those before.
int Follows(int character, bool begins, caffe::Net<float>* net) {
  net->input_blobs()[0]->mutable_cpu_data()[0] = static_cast<float>(character);
  net->input_blobs()[1]->mutable_cpu_data()[0] = begins ? 0 : 1;
  const caffe::Blob<float>& shares = *net->Forward()[0];
  const float* const first = shares.cpu_data();
  return static_cast<int>(std::max_element(first, first + shares.count()) - first);
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_minloglevel = google::GLOG_WARNING;
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 4, 4)) return *code;
  const std::string beginning = argv[3];
  const int count = std::atoi(argv[4]);
  CHECK(!beginning.empty()) << "BEGINNING must have a character.";
  CHECK_GT(count, 0) << "COUNT must be a number of characters, not " << argv[4] << ".";
  caffe::Net<float> net(argv[1], caffe::TEST);
  net.CopyTrainedLayersFrom(argv[2]);
  const std::string& alphabet = examples::Alphabet();
  CHECK(net.num_inputs() == 2 && net.input_blobs()[0]->count() == 1 &&
        net.input_blobs()[1]->count() == 1 && net.num_outputs() == 1 &&
        net.output_blobs()[0]->count() == static_cast<int>(alphabet.size()))
      << argv[1]
      << ": the net must have the inputs data and cont, of one number each, and one output, of "
      << alphabet.size() << ".";
  int next = 0;
  for (size_t i = 0; i < beginning.size(); ++i) {
    const int number = examples::NumberOf(beginning[i]);
    CHECK_GE(number, 0) << "'" << beginning[i] << "' is no letter, blank, dot or comma.";
    next = Follows(number, i == 0, &net);
  }
  std::cout << beginning;
  for (int i = 0; i < count; ++i) {
    std::cout << alphabet[static_cast<size_t>(next)];
    next = Follows(next, false, &net);
  }
  std::cout << std::endl;
  return 0;
}
