// Every solver type under a memory plan: its history is in the plan, and the bits are those of
// keep.
#include <cmath>

#include "caffe/net/test/training.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/math_functions.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

constexpr int kSteps = 7;  // beyond the iterations after which a measured plan is made anew

/// Returns the bytes of the tensors of `role` in the solver's plan.
int64_t BytesOf(Solver<float>* solver, layrub::Role role) {
  int64_t bytes = 0;
  for (const layrub::Tensor& tensor : solver->net()->planned()->graph().tensors) {
    if (tensor.role != role) continue;
    EXPECT_TRUE(tensor.is_state()) << tensor.name;
    bytes += tensor.bytes;
  }
  return bytes;
}

string Placed(const string& strategy, int64_t device_memory = 0) {
  return " placement { strategy: '" + strategy + "' " +
         (device_memory ? "device_memory: '" + BudgetFor(device_memory) + "'" : "") + " }";
}

/// Expects the same bits from `make(fields)` under keep, hybrid, and auto with the smallest budget
/// of hybrid.
template <typename Make>
void ExpectTheBitsOfKeep(const Make& make) {
  const auto train = [&](const string& fields) {
    const auto solver = make(fields);
    solver->Step(kSteps);
    return State(solver.get());
  };
  const auto kept = train(Placed("keep"));
  int64_t tight = 0;
  {
    const auto solver = make(Placed("hybrid"));
    ASSERT_TRUE(solver->Place().ok());
    tight = layrub::testing::SmallestBudget(solver->net()->planned()->graph(), "hybrid");
    solver->Step(1);
    EXPECT_GT(solver->net()->planned()->executor().bytes_offloaded(), 0);
  }
  for (const string& fields : {Placed("hybrid"), Placed("auto", tight)}) {
    const auto planned = train(fields);
    EXPECT_EQ(Bits(planned), Bits(kept)) << fields;
  }
  for (float value : kept) EXPECT_TRUE(std::isfinite(value));
}

class PlannedSolver : public ::testing::TestWithParam<string> {};

TEST_P(PlannedSolver, TrainsTheBitsOfKeepUnderEveryPlan) {
  ExpectTheBitsOfKeep([](const string& fields) {
    return MakeSolver(ClassifierNet(), GetParam() + " weight_decay: 0.01" + fields);
  });
}

TEST_P(PlannedSolver, PlansItsHistory) {
  const auto solver = MakeSolver(ClassifierNet(), GetParam() + Placed("hybrid"));
  ASSERT_TRUE(solver->Place().ok());
  const bool two = solver->param().type() == "Adam" || solver->param().type() == "AdaDelta";
  EXPECT_EQ(solver->histories(), two ? 2 : 1);
  EXPECT_EQ(BytesOf(solver.get(), layrub::Role::kHistory),
            solver->histories() * BytesOf(solver.get(), layrub::Role::kParameter));
  for (const auto& blob : solver->history()) EXPECT_NE(blob->data()->binding(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Solvers, PlannedSolver, ::testing::ValuesIn(SolverKinds()), KindName);

/// Adam as a user writes it for Caffe: on the host, with SGDSolver's update_ and temp_, and one
/// value of its own after the history.
class UsersAdam : public SGDSolver<float> {
 public:
  explicit UsersAdam(const SolverParameter& param) : SGDSolver<float>(param) {
    for (const Blob<float>* learned : net_->learnable_params())
      history_.push_back(shared_ptr<Blob<float>>(new Blob<float>(learned->shape())));
    history_.push_back(shared_ptr<Blob<float>>(new Blob<float>(vector<int>())));
  }
  const char* type() const override { return "UsersAdam"; }
  float updates() const { return history_.back()->cpu_data()[0]; }

 protected:
  void ComputeUpdateValue(int id, float rate) override {
    const float decay = param_.momentum(), decay2 = param_.momentum2();
    Blob<float>* const learned = net_->learnable_params()[id];
    Blob<float>*const mean = history_[id].get(), *const step = update_[id].get();
    Blob<float>* const squares = history_[net_->learnable_params().size() + id].get();
    Blob<float>* const root = temp_[id].get();
    const int n = learned->count();
    caffe_cpu_axpby(n, 1 - decay, learned->cpu_diff(), decay, mean->mutable_cpu_data());
    caffe_sqr(n, learned->cpu_diff(), step->mutable_cpu_data());
    caffe_cpu_axpby(n, 1 - decay2, step->cpu_data(), decay2, squares->mutable_cpu_data());
    caffe_powx(n, squares->cpu_data(), 0.5f, root->mutable_cpu_data());
    caffe_add_scalar(n, param_.delta(), root->mutable_cpu_data());
    caffe_div(n, mean->cpu_data(), root->cpu_data(), step->mutable_cpu_data());
    const int t = iter_ + 1;
    const double correction = std::sqrt(1 - std::pow(decay2, t)) / (1 - std::pow(decay, t));
    caffe_cpu_scale(n, static_cast<float>(rate * net_->params_lr()[id] * correction),
                    step->cpu_data(), learned->mutable_cpu_diff());
    ++history_.back()->mutable_cpu_data()[0];
  }
};
std::unique_ptr<UsersAdam> MakeUsersAdam(const string& fields) {
  SolverParameter param = ParseSolver(
      "base_lr: 0.1 lr_policy: 'fixed' random_seed: 7 snapshot_after_train: false "
      "momentum: 0.9 momentum2: 0.99 delta: 1e-4 weight_decay: 0.01 " +
      fields);
  CHECK(google::protobuf::TextFormat::ParseFromString(ClassifierNet(), param.mutable_net_param()));
  return std::make_unique<UsersAdam>(param);
}

TEST(UsersSolver, TrainsTheBitsOfKeepUnderEveryPlan) { ExpectTheBitsOfKeep(MakeUsersAdam); }

TEST(UsersSolver, TrainsTheSameAsTheLibrarysSolver) {
  const auto users = MakeUsersAdam("");
  users->Step(kSteps);
  const auto state = State<float>(users.get());
  const auto ours = MakeSolver(
      ClassifierNet(), "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-4 weight_decay: 0.01");
  ours->Step(kSteps);
  const auto expected = State<float>(ours.get());
  ASSERT_EQ(state.size(), expected.size());
  for (size_t i = 0; i < state.size(); ++i) EXPECT_NEAR(state[i], expected[i], 1e-4) << i;
}

TEST(UsersSolver, PlansOnlyTheHistoryOfParameters) {
  const auto solver = MakeUsersAdam("");
  solver->Step(1);
  EXPECT_EQ(solver->histories(), 2);
  const size_t planned = 2 * solver->net()->learnable_params().size();
  for (size_t i = 0; i < solver->history().size(); ++i)
    EXPECT_EQ(solver->history()[i]->data()->binding() != nullptr, i < planned) << i;
  EXPECT_EQ(solver->updates(), solver->net()->learnable_params().size());
}

}  // namespace
}  // namespace caffe
