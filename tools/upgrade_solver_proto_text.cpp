// The program upgrade_solver_proto_text: rewrites solver definitions (prototxt) of older releases
// in the current format.
#include "upgrade/upgrade_file.hpp"

int main(int argc, char** argv) {
  return upgrade_tool::Main<caffe::SolverParameter>(
      argc, argv,
      {"upgrade_solver_proto_text", "SolverParameter text proto", caffe::ReadProtoFromTextFileOrDie,
       upgrade_tool::HasNoFields, caffe::SolverNeedsTypeUpgrade, caffe::UpgradeSolverAsNeeded,
       caffe::WriteProtoToTextFile});
}
