#include "fuzz/target.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "caffe/common.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/io.hpp"
#include "layrub/commands.hpp"

namespace layrub_tool {

// Takes the place of the programs' Fail in tools/layrub/fail.cpp.
void Fail(const std::string& message) { throw caffe::Error(message); }

}  // namespace layrub_tool

namespace layrub_fuzz {

namespace {

std::vector<Target>& Registered() {
  static std::vector<Target> targets;
  return targets;
}

/// Changes to an empty folder, which is removed with this object.
class Folder {
 public:
  Folder() {
    caffe::MakeTempDir(&path_);
    std::filesystem::current_path(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::current_path("/", ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  std::string path_;
};

}  // namespace

const char kSmallNet[] = R"(
name: "small"
layer { name: "data" type: "Input" top: "data" top: "label"
        input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } shape { dim: 2 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
        inner_product_param { num_output: 3 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";

Registration::Registration(const Target& target) { Registered().push_back(target); }

std::vector<Target> Targets() {
  std::vector<Target> targets = Registered();
  std::sort(targets.begin(), targets.end(),
            [](const Target& a, const Target& b) { return std::strcmp(a.name, b.name) < 0; });
  return targets;
}

void SetUp() {
  static const Folder folder;
  FLAGS_minloglevel = google::GLOG_FATAL;
  caffe::Caffe::set_throw_on_error(true);
}

std::string Write(const std::string& name, const std::string& bytes) {
  std::ofstream(name, std::ios::binary | std::ios::trunc) << bytes;
  return name;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string SourceFile(const std::string& path) {
  const char* const root = std::getenv("LAYRUB_SOURCE_DIR");
  return Contents((root != nullptr ? root : LAYRUB_SOURCE_DIR) + ("/" + path));
}

void ReadInChild(void (*read)()) {
  constexpr int kRefused = 1;
  constexpr unsigned kPatience = 5;
  const pid_t child = fork();
  if (child == 0) {
    caffe::ExitOnFailure(kRefused);
    alarm(kPatience);
    try {
      read();
    } catch (const caffe::Error&) {
      _exit(kRefused);
    }
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {  // libFuzzer has a timer
  }
  if (child < 0) throw std::runtime_error("no process");
  if (!WIFEXITED(status)) throw std::runtime_error("ended by a signal, or too slow");
  if (WEXITSTATUS(status) == kRefused) throw caffe::Error("refused");
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("ended by a sanitizer");
}

void Require(const layrub::Status& status) {
  if (!status.ok()) throw caffe::Error(status.message);
}

}  // namespace layrub_fuzz
