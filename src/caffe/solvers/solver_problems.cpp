#include "solver_problems.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "caffe/common.hpp"
#include "caffe/placement_check.hpp"
#include "caffe/solver_check.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/util/nearest_name.hpp"
#include "caffe/util/problem_list.hpp"
#include "detection_scores.hpp"
#include "layrub/base/input.hpp"

namespace caffe {

namespace {

const vector<string>& LearningRatePolicies() {
  static const vector<string> policies = {"fixed",     "step",    "exp",  "inv",
                                          "multistep", "plateau", "poly", "sigmoid"};
  return policies;
}

/// Joins `names`, for example to "L1, L2 or L3".
string Choice(const vector<string>& names) {
  string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  return text;
}

string Number(float number) {
  ostringstream text;
  text << number;
  return text.str();
}

void AddMissingFile(const char* field, const string& path, SolverProblems* problems) {
  std::error_code error;
  if (std::filesystem::exists(path, error) || error) return;  // opening it reports the error
  problems->push_back({field, layrub::FileNotFound(path)});
}

SolverProblem UnknownType(const string& type, const vector<string>& known) {
  string text = "Unknown solver type: " + type + DidYouMean(type, known) + " (known types: ";
  for (const string& name : known) text += (&name == &known.front() ? "" : ", ") + name;
  return {"type", text + ")"};
}

}  // namespace

SolverProblems TrainNetProblems(const SolverParameter& param) {
  const string fields = "net, net_param, train_net, train_net_param";
  const int sources =
      param.has_net() + param.has_net_param() + param.has_train_net() + param.has_train_net_param();
  if (sources < 1) {
    return {{"", "SolverParameter must specify a train net using one of these fields: " + fields}};
  }
  if (sources > 1) {
    return {{"",
             "SolverParameter must not contain more than one of these fields specifying a train "
             "net: " +
                 fields}};
  }
  SolverProblems problems;
  if (param.has_net()) AddMissingFile("net", param.net(), &problems);
  if (param.has_train_net()) AddMissingFile("train_net", param.train_net(), &problems);
  return problems;
}

SolverProblems TestNetProblems(const SolverParameter& param) {
  SolverProblems problems;
  if (param.has_net() && param.has_net_param())
    problems.push_back({"net_param", "Both net and net_param are set; only one may be."});
  const int own = param.test_net_param_size() + param.test_net_size();
  const bool generic = param.has_net() || param.has_net_param();
  const int tests = param.test_iter_size();
  if (generic ? tests < own : tests != own) {
    problems.push_back(
        {"test_iter", "test_iter must be specified for each test network: there are " +
                          std::to_string(tests) + " of it and " + std::to_string(own) +
                          " of test_net and test_net_param."});
  }
  if (param.test_state_size() > 0 && param.test_state_size() != tests) {
    problems.push_back(
        {"test_state", "test_state must be unspecified or specified once per test net."});
  }
  if (tests > 0 && generic + own > 0 && param.test_interval() <= 0) {
    problems.push_back({"test_interval", "test_interval must be set where there are test nets."});
  }
  for (const string& file : param.test_net()) AddMissingFile("test_net", file, &problems);
  return problems;
}

SolverProblems FieldProblems(const SolverParameter& param) {
  SolverProblems problems;
  const auto check = [&](bool fine, const char* field, const string& text) {
    if (!fine) problems.push_back({field, text});
  };
  check(param.average_loss() >= 1, "average_loss", "average_loss should be at least 1.");
  check(param.iter_size() >= 1, "iter_size", "iter_size should be at least 1.");
  check(param.max_iter() >= 0, "max_iter",
        "max_iter is " + std::to_string(param.max_iter()) +
            ": the number of iterations should be at least 0.");
  check(param.snapshot_keep() >= 0, "snapshot_keep",
        "snapshot_keep should be at least 1, or 0 for all.");
  check(param.eval_type() == "classification" || param.eval_type() == "detection", "eval_type",
        "eval_type may be classification or detection; it is \"" + param.eval_type() + "\".");
  check(
      PrecisionMeanOf(param.ap_version()).has_value(), "ap_version",
      "ap_version may be 11point, MaxIntegral or Integral; it is \"" + param.ap_version() + "\".");
  check(std::isfinite(param.base_lr()) || !param.stop_on_nan(), "base_lr",
        "base_lr is " + Number(param.base_lr()) + ": nothing can be learned (stop_on_nan).");
  return problems;
}

SolverProblems TypeProblems(const string& type, const SolverParameter& param) {
  SolverProblems problems;
  if (type != "AdaGrad" && type != "RMSProp") return problems;
  if (param.momentum() != 0) {
    problems.push_back(
        {"momentum", "Momentum cannot be used with " + type + ": leave it out of the solver."});
  }
  if (type == "RMSProp" && !(param.rms_decay() >= 0 && param.rms_decay() < 1)) {
    problems.push_back(
        {"rms_decay", "rms_decay should lie between 0 and 1 (1 itself is too large), and is " +
                          Number(param.rms_decay()) + "."});
  }
  return problems;
}

SolverProblems RateProblems(const SolverParameter& param) {
  SolverProblems problems;
  const auto check = [&](bool fine, const char* field, const char* text) {
    if (!fine) problems.push_back({field, text});
  };
  const string& policy = param.lr_policy();
  const vector<string>& policies = LearningRatePolicies();
  if (policy.empty()) {
    problems.push_back({"lr_policy", "lr_policy is not set; it may be " + Choice(policies) + "."});
  } else if (std::find(policies.begin(), policies.end(), policy) == policies.end()) {
    problems.push_back({"lr_policy", "Unknown learning rate policy: \"" + policy + "\"" +
                                         DidYouMean(policy, policies) + " (lr_policy may be " +
                                         Choice(policies) + ")"});
  }
  check(policy != "step" || param.stepsize() > 0, "stepsize",
        "lr_policy \"step\" needs a positive stepsize.");
  check(policy != "poly" || param.max_iter() > 0, "max_iter",
        "lr_policy \"poly\" needs a positive max_iter.");
  if (policy == "plateau") {
    check(param.plateau_winsize_size() > 0 && param.has_gamma(), "lr_policy",
          "lr_policy \"plateau\" needs a gamma, and a plateau_winsize for each step.");
    for (int iterations : param.plateau_winsize()) {
      if (iterations > 0) continue;
      problems.push_back({"plateau_winsize", "plateau_winsize must be positive; it is " +
                                                 std::to_string(iterations) + "."});
    }
  }
  const auto not_negative = [&](const char* field, int iterations) {
    if (iterations >= 0) return;
    problems.push_back({field, string(field) + " must not be negative; it is " +
                                   std::to_string(iterations) + "."});
  };
  not_negative("rampup_interval", param.rampup_interval());
  not_negative("warmup_iter", param.warmup_iter());
  check(param.rampup_interval() == 0 || param.warmup_iter() == 0, "warmup_iter",
        "rampup_interval and warmup_iter mean the same: set only one of them.");
  check(param.rampup_interval() != 0 || !param.has_rampup_lr(), "rampup_lr",
        "rampup_lr needs a rampup_interval.");
  check(param.warmup_iter() != 0 || !param.has_warmup_start_lr(), "warmup_start_lr",
        "warmup_start_lr needs a warmup_iter.");
  return problems;
}

SolverProblems RegularizationProblems(const SolverParameter& param) {
  const string& kind = param.regularization_type();
  if (param.weight_decay() == 0 || kind == "L1" || kind == "L2") return {};
  return {{"regularization_type",
           "Unknown regularization type: \"" + kind + "\" (regularization_type may be L1 or L2)"}};
}

namespace {

SolverProblems PlacementProblems(const SolverParameter& param) {
  const layrub::Status status = CheckPlacement(param.placement());
  if (status.ok()) return {};
  return {{"placement", "placement: " + status.message}};
}

bool UsesDelta(const string& type) {
  return type == "AdaGrad" || type == "RMSProp" || type == "AdaDelta" || type == "Adam";
}

/// Returns problems with which training is possible but pointless.
SolverProblems Doubts(const SolverParameter& param) {
  SolverProblems doubts;
  const auto add = [&](const char* field, float value, const char* text) {
    doubts.push_back({field, string(field) + " is " + Number(value) + ": " + text});
  };
  if (!(param.momentum() >= 0 && param.momentum() < 1))
    add("momentum", param.momentum(), "updates stay bounded only in [0, 1).");
  if (param.type() == "Adam" && !(param.momentum2() >= 0 && param.momentum2() < 1))
    add("momentum2", param.momentum2(), "updates stay bounded only in [0, 1).");
  if (!(param.weight_decay() >= 0) || std::isinf(param.weight_decay()))
    add("weight_decay", param.weight_decay(),
        "weights decay only with a finite number of at least 0.");
  if (UsesDelta(param.type()) && (!(param.delta() >= 0) || std::isinf(param.delta())))
    add("delta", param.delta(),
        "it should be a small number of at least 0, which keeps a divisor above 0.");
  if (std::isnan(param.clip_gradients()))
    add("clip_gradients", param.clip_gradients(),
        "gradients can be clipped only to a number above 0.");
  if (!(param.base_lr() >= 0) || std::isinf(param.base_lr()))
    add("base_lr", param.base_lr(), "a loss falls only with a finite rate above 0.");
  return doubts;
}

/// Returns a line for each problem, in the order of the text from which the solver was read.
vector<string> Lines(const SolverParameter& param, SolverProblems problems) {
  const auto line = [&](const SolverProblem& problem) {
    const auto found = param.origin().line().find(problem.field);
    return found == param.origin().line().end() ? 0 : found->second;
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const auto& a, const auto& b) { return line(a) < line(b); });
  vector<string> told;
  for (const SolverProblem& problem : problems) {
    string place = param.origin().file();
    if (line(problem) > 0) place += ":" + std::to_string(line(problem));
    told.push_back((place.empty() ? "" : place + ": ") + problem.text);
  }
  return told;
}

}  // namespace

void Refuse(const SolverParameter& param, SolverProblems problems) {
  if (problems.empty()) return;
  const vector<string> told = Lines(param, std::move(problems));
  LOG(FATAL) << (told.size() == 1
                     ? ""
                     : "The solver has " + std::to_string(told.size()) + " problems:\n")
             << ProblemList(told);
}

void CheckSolver(const SolverParameter& param) {
  SolverProblems all;
  const auto add = [&](const SolverProblems& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  const vector<string> types = SolverRegistry<float>::SolverTypeList();
  if (std::find(types.begin(), types.end(), param.type()) == types.end())
    all.push_back(UnknownType(param.type(), types));
  add(TrainNetProblems(param));
  add(TestNetProblems(param));
  add(FieldProblems(param));
  add(TypeProblems(param.type(), param));
  add(RateProblems(param));
  add(RegularizationProblems(param));
  add(PlacementProblems(param));
  Refuse(param, std::move(all));
  for (const string& doubt : Lines(param, Doubts(param))) LOG(WARNING) << doubt;
}

void RefuseSolverType(const SolverParameter& param, const vector<string>& known) {
  Refuse(param, {UnknownType(param.type(), known)});
  std::abort();  // never reached
}

}  // namespace caffe
