#ifndef LAYRUB_RUNTIME_TEST_TOY_HPP_
#define LAYRUB_RUNTIME_TEST_TOY_HPP_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/runtime/executor.hpp"

namespace layrub::testing {

using Bytes = std::vector<uint8_t>;

/// Simulates the operations of any graph: each fills the tensors it writes with bytes drawn from a
/// hash of the operation, the iteration and every byte that all of its variants read. So all
/// variants give the same bits, and one wrong byte anywhere changes everything after it. Only the
/// state tensors that an operation updates depend on their old bytes, so an operation can be
/// recomputed.
class Interpreter {
 public:
  /// Fills state tensors with bytes drawn from their number. The others are empty.
  explicit Interpreter(const Graph& graph);

  void StartIteration() { ++iteration_; }
  /// Runs `op` in variant `variant`.
  void Run(OpId op, int variant);
  /// A whole iteration in graph order, each operation in its first variant.
  void RunAll();

  const Bytes& Value(TensorId tensor) const { return values_[tensor]; }
  uint64_t Seed(OpId op) const;
  /// The reads that all variants of `op` share.
  std::vector<TensorId> CommonReads(OpId op) const;
  /// Whether `output` of `op` depends on `input`.
  bool Matters(OpId op, int variant, TensorId input, TensorId output) const;

 private:
  const Graph& graph_;
  std::vector<Bytes> values_;
  uint64_t iteration_ = 0;
};

/// Runs a graph under a plan, with the interpreter in lockstep. Before each operation, every tensor
/// that the chosen variant reads must hold the interpreter's bytes.
class Toy : public OpRunner {
 public:
  /// Does the work of an operation: at once, or as a kernel when the compute lane gets there.
  using Launch = std::function<void(std::function<void()> work)>;

  explicit Toy(const Graph& graph) : Toy(graph, [](const auto& work) { work(); }) {}
  Toy(const Graph& graph, Launch launch)
      : graph_(graph), expected_(graph), launch_(std::move(launch)) {}

  /// Copies the state to its homes and allocates host memory for feeds. `executor` must outlive
  /// this.
  void Attach(Executor* executor);
  /// Runs all three passes, then compares the values that the plan must leave.
  void RunIteration();
  void Run(const Step& step) override;

  /// The differences found, one sentence each.
  const std::vector<std::string>& wrong() const { return wrong_; }
  const Interpreter& expected() const { return expected_; }

 private:
  /// The expected contents of a tensor at an address.
  struct Read {
    const uint8_t* address;
    TensorId tensor;
    uint64_t hash;
  };
  /// An output: its address, and the inputs from which its bytes are computed.
  struct Write {
    uint8_t* address;
    int64_t bytes;
    TensorId tensor;
    uint64_t seed;
    std::vector<std::pair<const uint8_t*, int64_t>> inputs;
  };
  /// An operation with the addresses of its operands. It may run later, when Executor::Address
  /// already gives others.
  struct Work {
    OpId op;
    std::vector<Read> reads;
    std::vector<Write> writes;
  };

  /// Host memory that a feed copies from; pinned if there is a device.
  using HostMemory = std::unique_ptr<uint8_t, std::function<void(uint8_t*)>>;

  void Feed(const Step& step);
  HostMemory AllocateHost(int64_t bytes) const;
  Work WorkOf(const Step& step);
  std::vector<Read> ReadsOf(const Step& step) const;
  Write WriteOf(const Step& step, TensorId output) const;
  void Do(const Work& work);
  void CheckRest();
  Read Expected(const void* address, TensorId tensor) const;
  void Expect(const Read& read, const std::string& where);

  const Graph& graph_;
  Interpreter expected_;
  const Launch launch_;
  Executor* executor_ = nullptr;
  std::map<TensorId, HostMemory> fed_;  ///< by the tensor that is copied from it
  OpId next_ = 0;                       ///< the first operation that the interpreter has not run
  std::vector<std::string> wrong_;
};

}  // namespace layrub::testing

#endif  // LAYRUB_RUNTIME_TEST_TOY_HPP_
