// The program upgrade_net_proto_text: rewrites net definitions (prototxt) of older releases in the
// current format.
#include "upgrade/upgrade_file.hpp"

int main(int argc, char** argv) {
  return upgrade_tool::Main<caffe::NetParameter>(
      argc, argv,
      {"upgrade_net_proto_text", "NetParameter text proto", caffe::ReadProtoFromTextFileOrDie,
       upgrade_tool::HasNoLayers, caffe::NetNeedsUpgrade, caffe::UpgradeNetAsNeeded,
       caffe::WriteProtoToTextFile});
}
