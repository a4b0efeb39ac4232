// Gives the inputs of libFuzzer to one target: `LAYRUB_FUZZ_TARGET=graph fuzz_inputs FOLDER`
// (ci/fuzz.sh). `LAYRUB_FUZZ_WRITE=FOLDER fuzz_inputs` writes the seeds of all targets to
// FOLDER/<target>/ and their words to FOLDER/<target>.dict instead. Folders must be absolute paths.
#include <google/protobuf/text_format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "caffe/error.hpp"
#include "fuzz/mutate_message.hpp"
#include "fuzz/target.hpp"

namespace layrub_fuzz {
namespace {

using google::protobuf::TextFormat;

const Target* target = nullptr;

void WriteSeeds(const std::string& folder) {
  for (const Target& each : Targets()) {
    const std::string place = folder + "/" + each.name;
    std::filesystem::create_directories(place);
    int number = 0;
    for (const std::string& seed : each.seeds())
      Write(place + "/seed" + std::to_string(++number), seed);
    std::ofstream words(place + ".dict");
    if (each.words == nullptr) continue;
    for (const std::string& word : each.words()) words << '"' << word << "\"\n";
  }
}

void ChooseTarget() {
  const char* const name = std::getenv("LAYRUB_FUZZ_TARGET");
  static const std::vector<Target> targets = Targets();
  for (const Target& each : targets) {
    if (name != nullptr && std::strcmp(each.name, name) == 0) target = &each;
  }
  if (target != nullptr) return;
  std::fprintf(stderr, "LAYRUB_FUZZ_TARGET has to be one of:");
  for (const Target& each : targets) std::fprintf(stderr, " %s", each.name);
  std::fprintf(stderr, "\n");
  std::exit(1);
}

/// Parses `bytes` as the target's message; false if they are not one.
bool Parse(const std::string& bytes, google::protobuf::Message* message) {
  if (target->text) return TextFormat::ParseFromString(bytes, message);
  return message->ParsePartialFromString(bytes);
}

std::string Print(const google::protobuf::Message& message) {
  std::string bytes;
  if (target->text) {
    TextFormat::PrintToString(message, &bytes);
  } else {
    message.SerializePartialToString(&bytes);
  }
  return bytes;
}

/// `bytes` with one field changed; empty if they are not a message.
std::string WithFieldChanged(const std::string& bytes, unsigned seed) {
  static const auto words = target->words == nullptr ? std::vector<std::string>() : target->words();
  const std::unique_ptr<google::protobuf::Message> message = target->message();
  if (!Parse(bytes, message.get())) return "";
  std::mt19937 random(seed);
  for (unsigned i = 0; i <= seed % 4; ++i) MutateMessage(words, &random, message.get());
  return Print(*message);
}

}  // namespace
}  // namespace layrub_fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace layrub_fuzz;
  if (target->message != nullptr && seed % 4 != 0) {
    const std::string changed =
        WithFieldChanged(std::string(reinterpret_cast<const char*>(data), size), seed / 4);
    if (!changed.empty() && changed.size() <= max_size) {
      std::memcpy(data, changed.data(), changed.size());
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  using namespace layrub_fuzz;
  if (const char* folder = std::getenv("LAYRUB_FUZZ_WRITE")) {
    SetUp();
    WriteSeeds(folder);
    std::exit(0);
  }
  ChooseTarget();
  SetUp();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace layrub_fuzz;
  try {
    target->read(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const caffe::Error&) {  // refused
  }
  return 0;
}
