#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "layrub/base/beside_library.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {
namespace {

/// The path of the program `name` in the first folder of PATH that has it, or "".
std::string FindProgram(const std::string& name) {
  const char* const folders = std::getenv("PATH");
  std::istringstream stream(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(stream, folder, ':');) {
    const std::string path = folder + "/" + name;
    if (!folder.empty() && access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

/// Replaces this process by a program (execv). Returns only on failure.
void Become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
}

/// Whether `python` starts and has the package caffe of this program.
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
    const std::string folder = layrub::PathBesideLibrary(place);
    if (std::filesystem::exists(folder + "/caffe/onnx_export"))
      path += (path.empty() ? "" : ":") + folder;
  }
  if (!path.empty()) setenv("PYTHONPATH", path.c_str(), 1);
}

/// Replaces this process by Python, running the module caffe.<module> with `arguments`.
[[noreturn]] void BecomePython(const std::string& command, const std::string& module,
                               const std::vector<std::string>& arguments) {
  ExtendPythonPath();
  setenv("GLOG_minloglevel", "2", 0);  // nets are created without log lines
  for (const std::string& python : {FindProgram("python3"), std::string("/usr/bin/python3")}) {
    if (python.empty() || !HasPackage(python)) continue;
    std::vector<std::string> words = {python, "-m", "caffe." + module};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Become(words);
  }
  Fail("'" + command +
       "' needs Python 3 with the package caffe of this program, and with numpy and onnx (Debian: "
       "python3-numpy python3-protobuf python3-onnx)");
}

void AddVerify(std::vector<std::string>* arguments) {
  if (FLAGS_verify < -1) Fail("--verify=" + std::to_string(FLAGS_verify) + ": it is 0 or more");
  if (FLAGS_verify >= 0) arguments->push_back("--verify=" + std::to_string(FLAGS_verify));
}

}  // namespace

int RunExport(const std::vector<std::string>&) {
  Require("export", "model", FLAGS_model);
  Require("export", "output", FLAGS_output);
  CheckWritable(FLAGS_output);
  if (FLAGS_opset < 13 || FLAGS_opset > 21)
    Fail("--opset=" + std::to_string(FLAGS_opset) + ": it is one of 13 to 21");
  std::vector<std::string> arguments{"--model=" + FLAGS_model, "--output=" + FLAGS_output,
                                     "--opset=" + std::to_string(FLAGS_opset)};
  if (!FLAGS_weights.empty()) arguments.push_back("--weights=" + FLAGS_weights);
  if (FLAGS_dynamic_batch) arguments.push_back("--dynamic_batch");
  if (FLAGS_fold) arguments.push_back("--fold");
  AddVerify(&arguments);
  BecomePython("export", "onnx_export", arguments);
}

int RunImport(const std::vector<std::string>&) {
  Require("import", "onnx", FLAGS_onnx);
  Require("import", "output", FLAGS_output);
  CheckWritable(FLAGS_output + ".prototxt");
  CheckWritable(FLAGS_output + ".caffemodel");
  if (FLAGS_batch < 0) Fail("--batch=" + std::to_string(FLAGS_batch) + ": it is 1 or more");
  std::vector<std::string> arguments{"--onnx=" + FLAGS_onnx, "--output=" + FLAGS_output};
  if (FLAGS_batch > 0) arguments.push_back("--batch=" + std::to_string(FLAGS_batch));
  if (!FLAGS_data_shape.empty()) arguments.push_back("--data_shape=" + FLAGS_data_shape);
  AddVerify(&arguments);
  BecomePython("import", "onnx_import", arguments);
}

}  // namespace layrub_tool
