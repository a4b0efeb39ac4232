// The program upgrade_net_proto_binary: rewrites trained nets (.caffemodel) of older releases in
// the current format.
#include "upgrade/upgrade_file.hpp"

int main(int argc, char** argv) {
  return upgrade_tool::Main<caffe::NetParameter>(
      argc, argv,
      {"upgrade_net_proto_binary", "NetParameter binary proto", caffe::ReadProtoFromBinaryFileOrDie,
       upgrade_tool::HasNoLayers, caffe::NetNeedsUpgrade, caffe::UpgradeNetAsNeeded,
       caffe::WriteProtoToBinaryFile});
}
