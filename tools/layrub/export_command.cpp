#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "caffe/util/beside_library.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {
namespace {

/// Takes the place of this process; returns only if it cannot.
void Become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
}

/// Whether `python` starts and has the package caffe.
bool HasPackage(const std::string& python) {
  const pid_t child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stderr) != nullptr) Become({python, "-c", "import caffe"});
    _exit(kFailure);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Lets Python find the package where it is built, installed, or part of a wheel.
void ExtendPythonPath() {
  const char* const before = std::getenv("PYTHONPATH");
  std::string path = before == nullptr ? "" : before;
  for (const char* const place : {"../python", "python", "../.."}) {
    const std::string folder = caffe::BesideLibrary(place);
    if (std::filesystem::exists(folder + "/caffe/onnx_export"))
      path += (path.empty() ? "" : ":") + folder;
  }
  if (!path.empty()) setenv("PYTHONPATH", path.c_str(), 1);
}

}  // namespace

int RunExport(const std::vector<std::string>&) {
  Require("export", "model", FLAGS_model);
  Require("export", "output", FLAGS_output);
  CheckWritable(FLAGS_output);
  if (FLAGS_opset < 13 || FLAGS_opset > 21)
    Fail("--opset=" + std::to_string(FLAGS_opset) + ": it is one of 13 to 21");
  if (FLAGS_verify < -1) Fail("--verify=" + std::to_string(FLAGS_verify) + ": it is 0 or more");
  ExtendPythonPath();
  std::vector<std::string> words{"",
                                 "-m",
                                 "caffe.onnx_export",
                                 "--model=" + FLAGS_model,
                                 "--output=" + FLAGS_output,
                                 "--opset=" + std::to_string(FLAGS_opset)};
  if (!FLAGS_weights.empty()) words.push_back("--weights=" + FLAGS_weights);
  if (FLAGS_dynamic_batch) words.push_back("--dynamic_batch");
  if (FLAGS_fold) words.push_back("--fold");
  if (FLAGS_verify >= 0) words.push_back("--verify=" + std::to_string(FLAGS_verify));
  for (const char* const python : {"python3", "/usr/bin/python3"}) {
    if (!HasPackage(python)) continue;
    words[0] = python;
    Become(words);
  }
  Fail(
      "'export' needs Python 3 with the package caffe of this program, and with numpy and onnx "
      "(Debian: python3-numpy python3-protobuf python3-onnx)");
}

}  // namespace layrub_tool
