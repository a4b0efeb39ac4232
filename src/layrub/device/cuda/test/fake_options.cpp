#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "layrub/device/cuda/test/fake_runtime.hpp"

namespace layrub::fake_cuda {
namespace {

[[noreturn]] void NotUnderstood(const std::string& word) {
  std::fprintf(stderr, "LAYRUB_FAKE_GPU: '%s' is not understood\n", word.c_str());
  std::exit(2);
}

/// Returns `text`, a part of `word`, as a number.
int64_t NumberOf(const std::string& word, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) NotUnderstood(word);
  return number;
}

}  // namespace

Options OptionsOfEnvironment() {
  const char* const words = std::getenv("LAYRUB_FAKE_GPU");
  if (words == nullptr) return {};
  Options options{.device_bytes = int64_t{16} << 30,
                  .pinned_bytes = int64_t{16} << 30,
                  .pace = Pace::kRandom,
                  .strict = true,
                  .keep_calls = false};
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) {
    const size_t equal = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equal);
    const std::string value = word.substr(std::min(equal + 1, word.size()));
    if (name == "pace" && (value == "early" || value == "late" || value == "random")) {
      options.pace = value == "early"  ? Pace::kEarly
                     : value == "late" ? Pace::kLate
                                       : Pace::kRandom;
    } else if (word == "protect") {
      options.protect = true;
    } else if (word == "idle") {
      options.idle = true;
    } else if (name == "devices") {
      options.devices = static_cast<int>(NumberOf(word, value));
    } else if (name == "mib") {
      options.device_bytes = NumberOf(word, value) << 20;
    } else if (name == "seed") {
      options.seed = static_cast<uint32_t>(NumberOf(word, value));
    } else if (name == "fail") {
      options.fail = [until = NumberOf(word, value)](const std::string&) mutable {
        return --until == 0 ? cudaErrorLaunchFailure : cudaSuccess;
      };
    } else {
      NotUnderstood(word);
    }
  }
  return options;
}

}  // namespace layrub::fake_cuda
