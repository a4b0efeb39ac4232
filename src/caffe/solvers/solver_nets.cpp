#include "caffe/solver_nets.hpp"

#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

namespace {

/// The net in `file`, or the message itself when `file` is empty, in the state that solver and
/// phase ask for.
SolverNet MakeNet(const string& field, const string& file, const NetParameter& inlined, Phase phase,
                  const NetState* state) {
  SolverNet net;
  if (file.empty()) {
    net.source = field;
    net.param = inlined;
    UpgradeNetAsNeeded(field, &net.param);
  } else {
    net.source = field + " file: " + file;
    ReadNetParamsFromTextFileOrDie(file, &net.param);
  }
  // Low to high precedence: the phase, what the net asks for, what the solver asks for.
  NetState merged;
  merged.set_phase(phase);
  merged.MergeFrom(net.param.state());
  if (state != nullptr) merged.MergeFrom(*state);
  *net.param.mutable_state() = merged;
  return net;
}

}  // namespace

SolverNet TrainNetOf(const SolverParameter& param) {
  const string fields = "net, net_param, train_net, train_net_param";
  const int sources =
      param.has_net() + param.has_net_param() + param.has_train_net() + param.has_train_net_param();
  CHECK_GE(sources, 1) << "SolverParameter must specify a train net using one of these fields: "
                       << fields;
  CHECK_LE(sources, 1)
      << "SolverParameter must not contain more than one of these fields specifying a train net: "
      << fields;
  const NetState* state = &param.train_state();
  if (param.has_train_net_param())
    return MakeNet("train_net_param", "", param.train_net_param(), TRAIN, state);
  if (param.has_train_net()) return MakeNet("train_net", param.train_net(), {}, TRAIN, state);
  if (param.has_net_param()) return MakeNet("net_param", "", param.net_param(), TRAIN, state);
  return MakeNet("net", param.net(), {}, TRAIN, state);
}

vector<SolverNet> TestNetsOf(const SolverParameter& param) {
  CHECK_LE(param.has_net() + param.has_net_param(), 1)
      << "Both net and net_param are set; only one may be.";
  const int own = param.test_net_param_size() + param.test_net_size();
  const bool generic = param.has_net() || param.has_net_param();
  const int tests = param.test_iter_size();
  if (generic) {
    CHECK_GE(tests, own) << "test_iter must be specified for each test network.";
  } else {
    CHECK_EQ(tests, own) << "test_iter must be specified for each test network.";
  }
  if (param.test_state_size() > 0) {
    CHECK_EQ(param.test_state_size(), tests)
        << "test_state must be unspecified or specified once per test net.";
  }
  if (tests > 0)
    CHECK_GT(param.test_interval(), 0) << "test_interval must be set where there are test nets.";

  vector<SolverNet> nets;
  const auto add = [&](const string& field, const string& file, const NetParameter& inlined) {
    const int index = static_cast<int>(nets.size());
    nets.push_back(MakeNet(field, file, inlined, TEST,
                           param.test_state_size() ? &param.test_state(index) : nullptr));
  };
  for (const NetParameter& net : param.test_net_param()) add("test_net_param", "", net);
  for (const string& file : param.test_net()) add("test_net", file, {});
  while (static_cast<int>(nets.size()) < tests) {
    if (param.has_net_param()) {
      add("net_param", "", param.net_param());
    } else {
      add("net", param.net(), {});
    }
  }
  return nets;
}

}  // namespace caffe
