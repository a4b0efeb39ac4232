#include "caffe/solver_nets.hpp"

#include "caffe/placement_check.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "solver_problems.hpp"

namespace caffe {

namespace {

/// Returns the net in `file`, or `inlined` if `file` is empty, in the state that solver and phase
/// ask for.
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
  const layrub::Status placement = CheckPlacement(net.param.placement());
  CHECK(placement.ok()) << (file.empty() ? field : file) << ": placement: " << placement.message;
  // Precedence, low to high: the phase, the net's state, the solver's state.
  NetState merged;
  merged.set_phase(phase);
  merged.MergeFrom(net.param.state());
  if (state != nullptr) merged.MergeFrom(*state);
  *net.param.mutable_state() = merged;
  return net;
}

}  // namespace

SolverNet TrainNetOf(const SolverParameter& param) {
  Refuse(param, TrainNetProblems(param));
  const NetState* state = &param.train_state();
  if (param.has_train_net_param())
    return MakeNet("train_net_param", "", param.train_net_param(), TRAIN, state);
  if (param.has_train_net()) return MakeNet("train_net", param.train_net(), {}, TRAIN, state);
  if (param.has_net_param()) return MakeNet("net_param", "", param.net_param(), TRAIN, state);
  return MakeNet("net", param.net(), {}, TRAIN, state);
}

vector<SolverNet> TestNetsOf(const SolverParameter& param) {
  Refuse(param, TestNetProblems(param));
  const int tests = param.test_iter_size();
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
