#include "caffe/solver_nets.hpp"
#include "caffe/test/expect_error.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

TEST(SolverNets, TrainNetHasTheTrainPhaseAndTheStateOfNetAndSolver) {
  const SolverParameter param = ParseSolver(
      "net_param { name: 'n' state { stage: 'a' level: 1 } } train_state { stage: 'b' level: 2 }");
  const NetState state = TrainNetOf(param).param.state();
  EXPECT_EQ(TRAIN, state.phase());
  EXPECT_EQ(2, state.level());
  ASSERT_EQ(2, state.stage_size());
  EXPECT_EQ("a", state.stage(0));
  EXPECT_EQ("b", state.stage(1));
}

TEST(SolverNets, ReadsNetsFromFiles) {
  string folder = NewFolder();
  NetParameter net;
  net.set_name("from a file");
  net.add_layer()->set_type("Input");
  WriteProtoToTextFile(net, folder + "/net.prototxt");
  SolverParameter param;
  param.set_train_net(folder + "/net.prototxt");
  EXPECT_EQ("from a file", TrainNetOf(param).param.name());
  EXPECT_NE(string::npos, TrainNetOf(param).source.find(folder));
}

TEST(SolverNetsErrors, RequiresExactlyOneTrainNet) {
  EXPECT_ERROR(TrainNetOf(ParseSolver("base_lr: 1")),
               "must specify a train net.*net, net_param, train_net");
  EXPECT_ERROR(TrainNetOf(ParseSolver("net: 'a' train_net: 'b'")), "not contain more than one");
}

TEST(SolverNets, TestNetsAreInTheOrderOfTheirFields) {
  const SolverParameter param = ParseSolver(
      "net_param { name: 'generic' } test_net_param { name: 'own' } test_iter: 1 test_iter: 2 "
      "test_iter: 3 "
      "test_interval: 1 test_state { stage: 'x' } test_state { stage: 'y' } test_state { stage: "
      "'z' }");
  const vector<SolverNet> nets = TestNetsOf(param);
  ASSERT_EQ(3u, nets.size());
  EXPECT_EQ("own", nets[0].param.name());
  EXPECT_EQ("generic", nets[1].param.name());
  EXPECT_EQ("generic", nets[2].param.name());
  const char* stages[] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(TEST, nets[i].param.state().phase());
    EXPECT_EQ(stages[i], nets[i].param.state().stage(0));
  }
}

TEST(SolverNets, HasNoTestNetsWithoutTestIter) {
  EXPECT_TRUE(TestNetsOf(ParseSolver("net_param { name: 'n' }")).empty());
}

TEST(SolverNetsErrors, NumbersOfTestNetsTestIterAndTestStateMustAgree) {
  EXPECT_ERROR(TestNetsOf(ParseSolver("test_net: 'a' test_net: 'b' test_iter: 1 test_interval: 1")),
               "test_iter");
  EXPECT_ERROR(TestNetsOf(ParseSolver(
                   "net_param {} test_iter: 1 test_iter: 1 test_state {} test_interval: 1")),
               "test_state");
  EXPECT_ERROR(TestNetsOf(ParseSolver("net_param {} test_iter: 1")), "test_interval");
}

}  // namespace
}  // namespace caffe
