#ifndef TOOLS_UPGRADE_UPGRADE_FILE_HPP_
#define TOOLS_UPGRADE_UPGRADE_FILE_HPP_

// Code that the three upgrade programs share.
#include <optional>
#include <string>

#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "shared/start.hpp"

namespace upgrade_tool {

/// A program that rewrites files of one kind.
template <typename Proto>
struct Tool {
  const char* name;
  const char* what;  ///< "NetParameter text proto"
  void (*read)(const std::string& path, caffe::Message* proto);
  bool (*empty)(const Proto& proto);
  bool (*outdated)(const Proto& proto);
  bool (*upgrade)(const std::string& path, Proto* proto);
  void (*write)(const caffe::Message& proto, const std::string& path);
};

inline bool HasNoLayers(const caffe::NetParameter& net) {
  return net.layer_size() == 0 && net.layers_size() == 0;
}

inline bool HasNoFields(const caffe::SolverParameter& solver) { return solver.ByteSizeLong() == 0; }

/// Rewrites the file IN in the current format as OUT, which may be the same file. OUT is written
/// completely or not at all. Returns the program's exit code: 0, or 1 if something could not be
/// carried over (the log says what) or the arguments are wrong.
template <typename Proto>
int Main(int argc, char** argv, const Tool<Proto>& tool) {
  const std::string text =
      std::string("Brings a ") + tool.what + " of an older Caffe into the current format.";
  const tools::Help help = {tool.name, "IN OUT", text.c_str()};
  if (const std::optional<int> code = tools::Start(&argc, &argv, help, 2, 2)) return *code;
  const std::string in = argv[1], out = argv[2];
  Proto proto;
  tool.read(in, &proto);
  CHECK(!tool.empty(proto)) << in << " is empty, or no " << tool.what << ".";
  bool complete = true;
  if (tool.outdated(proto)) {
    complete = tool.upgrade(in, &proto);
  } else {
    LOG(INFO) << "File already in latest proto format: " << in;
  }
  tool.write(proto, out);
  LOG(INFO) << "Wrote upgraded " << tool.what << " to " << out;
  return complete ? 0 : 1;
}

}  // namespace upgrade_tool

#endif  // TOOLS_UPGRADE_UPGRADE_FILE_HPP_
