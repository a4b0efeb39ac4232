#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "layrub/partition/search.hpp"

namespace layrub::partition {
namespace {

/// A random net of matrix products, of recurrent layers and of sums of branches.
class ArbitraryNetwork {
 public:
  static Network Make() {
    ArbitraryNetwork made;
    const int layers = *rc::gen::inRange(1, 5);
    made.AddSource();
    for (int i = 0; i < layers; ++i) {
      const int kind = *rc::gen::inRange(0, 5);
      if (made.network_.values.size() > 1 && kind == 0) {
        made.AddSum();
      } else if (kind == 1) {
        made.AddRecurrent();
      } else {
        made.AddProduct();
      }
    }
    return made.network_;
  }

 private:
  int AddValue(int64_t channels, bool gradient) {
    const int64_t items = 4;
    network_.values.push_back({"v", {items, channels}, {}, items * channels * 4, gradient});
    return static_cast<int>(network_.values.size()) - 1;
  }
  int AnyValue() const { return *rc::gen::inRange(0, static_cast<int>(network_.values.size())); }
  void AddSource() {
    Operation op;
    op.name = "source";
    op.outputs = {AddValue(8, false)};
    network_.operations.push_back(op);
  }
  void AddProduct() {
    const int input = AnyValue();
    const int64_t in = network_.values[input].dims[1],
                  out = *rc::gen::element<int64_t>(2, 6, 8, 64);
    Operation op;
    op.name = "product";
    op.inputs = {input};
    op.outputs = {AddValue(out, true)};
    op.params = {{{out, in}, {}, out * in * 4, true, -1}};
    op.axes = {
        {"item", 4, {0}, {0}, {-1}}, {"out", out, {-1}, {1}, {0}}, {"in", in, {1}, {-1}, {1}}};
    network_.operations.push_back(op);
  }
  /// All devices get the whole output, which they exchange inside the operation.
  void AddRecurrent() {
    const int input = AnyValue();
    const int64_t in = network_.values[input].dims[1], units = *rc::gen::element<int64_t>(4, 16);
    Operation op;
    op.name = "recurrent";
    op.inputs = {input};
    op.outputs = {AddValue(units, true)};
    op.params = {{{4 * units, in}, {{units, units, units, units}}, 16 * units * in, true, -1}};
    op.axes = {{"item", 4, {0}, {0}, {-1}},
               {"unit", units, {-1}, {kGathered}, {0}, network_.values.back().bytes}};
    network_.operations.push_back(op);
  }
  void AddSum() {
    const int a = AnyValue();
    int b = -1;
    for (int v = 0; v < static_cast<int>(network_.values.size()); ++v) {
      if (v != a && network_.values[v].dims == network_.values[a].dims) b = v;
    }
    if (b < 0) return AddProduct();
    const int64_t channels = network_.values[a].dims[1];
    Operation op;
    op.name = "sum";
    op.inputs = {a, b};
    op.outputs = {AddValue(channels, true)};
    op.axes = {{"item", 4, {0, 0}, {0}, {}}, {"channel", channels, {1, 1}, {1}, {}}};
    network_.operations.push_back(op);
  }

  Network network_;
};

/// Calls `use` with each choice of axes for a level.
template <typename Use>
void ForEachChoice(const Network& network, const Use& use, std::vector<int> axes = {}) {
  if (axes.size() == network.operations.size()) {
    use(axes);
    return;
  }
  const auto& op = network.operations[axes.size()];
  axes.push_back(-1);
  for (; axes.back() < static_cast<int>(op.axes.size()); ++axes.back())
    ForEachChoice(network, use, axes);
}

/// The bytes that the search counts: those of each operation's inputs, as if no exchange served
/// two.
int64_t CountedBytes(const Network& network, const Partition& partition) {
  int64_t bytes = 0;
  for (size_t o = 0; o < network.operations.size(); ++o) {
    Network one = network;
    for (size_t other = 0; other < one.operations.size(); ++other) {
      if (other == o) continue;
      Operation& op = one.operations[other];
      op.inputs.clear();
      op.outputs.clear();
      op.params.clear();
      for (Axis& axis : op.axes) axis = {axis.name, axis.extent, {}, {}, {}};
    }
    bytes += BytesReceived(one, partition);
  }
  return bytes;
}

TEST(Search, FindsTheFewestBytesOnALevel) {
  EXPECT_TRUE(rc::check([] {
    const Network network = ArbitraryNetwork::Make();
    SearchGoal wish;
    wish.cut_all = *rc::gen::arbitrary<bool>();
    const Partition best = Search(network, 1, wish);
    const int64_t fewest = CountedBytes(network, best);
    int64_t tried = 0;
    ForEachChoice(network, [&](const std::vector<int>& axes) {
      for (size_t o = 0; wish.cut_all && o < axes.size(); ++o) {
        if (axes[o] < 0 && !network.operations[o].axes.empty()) return;
      }
      SearchGoal forced = wish;
      forced.allows = [&](int, int op, int axis) { return axes[op] == axis; };
      const Partition other = Search(network, 1, forced);
      RC_ASSERT(other.axes[0] == axes);
      RC_ASSERT(fewest <= CountedBytes(network, other));
      ++tried;
    });
    RC_ASSERT(tried > 0);
  }));
}

TEST(Search, CutsEveryLayerIfAsked) {
  EXPECT_TRUE(rc::check([] {
    const Network network = ArbitraryNetwork::Make();
    SearchGoal wish;
    wish.cut_all = true;
    const Partition partition = Search(network, 2, wish);
    for (size_t o = 1; o < network.operations.size(); ++o) RC_ASSERT(partition.axes[0][o] >= 0);
  }));
}

TEST(Search, DividesExtentsEvenlyOnAllLevels) {
  EXPECT_TRUE(rc::check([] {
    const Network network = ArbitraryNetwork::Make();
    SearchGoal wish;
    wish.cut_all = *rc::gen::arbitrary<bool>();
    wish.same_on_all_levels = *rc::gen::arbitrary<bool>();
    wish.greedy = *rc::gen::arbitrary<bool>();
    const auto allowed = *rc::gen::container<std::vector<bool>>(60, rc::gen::arbitrary<bool>());
    wish.allows = [&allowed](int level, int op, int axis) {
      return axis < 0 || allowed[(level * 5 + op) * 4 + axis];
    };
    if (*rc::gen::arbitrary<bool>())
      wish.allows_home = [](int, int, Level level) { return level == Cut(0); };
    const Partition partition = Search(network, 3, wish);
    for (size_t o = 0; o < network.operations.size(); ++o) {
      const auto& axes = network.operations[o].axes;
      for (size_t a = 0; a < axes.size(); ++a) {
        const int parts = Parts(partition, static_cast<int>(o), static_cast<int>(a));
        RC_ASSERT(axes[a].extent % parts == 0);
      }
    }
    for (size_t v = 0; v < network.values.size(); ++v) {
      const Layout home = Home(network, partition, static_cast<int>(v));
      for (int d = 0; d < 2; ++d) RC_ASSERT(CanCut(home, d, layrub::Parts(home, d)));
    }
  }));
}

TEST(Search, CountsWhatALayerExchangesInside) {
  Network network;
  network.values = {{"x", {8, 8}, {}, 256, true}, {"y", {8, 64}, {}, 2048, true}};
  Operation source, layer;
  source.outputs = {0};
  layer.inputs = {0};
  layer.outputs = {1};
  layer.params = {{{64, 8}, {}, 2048, true, -1}};
  layer.axes = {{"item", 8, {0}, {0}, {-1}}, {"unit", 64, {-1}, {kGathered}, {0}, 2048}};
  network.operations = {source, layer};
  const auto received = [&](std::vector<std::vector<int>> axes) {
    const std::vector<Level> homes = {Whole(), PartGradient()};
    Partition partition{axes, {}};
    partition.homes.assign(axes.size(), homes);
    return BytesReceived(network, partition);
  };
  // The gradient of x is summed: half of it, twice. Half of y is received, and of its gradient.
  EXPECT_EQ(256 + 2 * 1024, received({{-1, 1}}));
  // In quarters: three of them are received.
  EXPECT_EQ(2 * 192 + 2 * 3 * 512, received({{-1, 1}, {-1, 1}}));
}

TEST(Search, CutsLargeParametersRatherThanItems) {
  // Eight items, and parameters of 1024 x 8 and 8 x 1024. To cut the items would exchange the
  // gradients of both.
  Network network;
  network.values = {{"a", {8, 8}, {}, 256, false},
                    {"b", {8, 1024}, {}, 32768, true},
                    {"c", {8, 8}, {}, 256, true}};
  const auto product = [](int input, int output, int64_t in, int64_t out) {
    Operation op;
    op.inputs = {input};
    op.outputs = {output};
    op.params = {{{out, in}, {}, out * in * 4, true, -1}};
    op.axes = {
        {"item", 8, {0}, {0}, {-1}}, {"out", out, {-1}, {1}, {0}}, {"in", in, {1}, {-1}, {1}}};
    return op;
  };
  Operation source;
  source.outputs = {0};
  network.operations = {source, product(0, 1, 8, 1024), product(1, 2, 1024, 8)};
  SearchGoal wish;
  wish.cut_all = true;
  const Partition partition = Search(network, 1, wish);
  EXPECT_EQ(1, partition.axes[0][1]);  // out, and then in: only the sum of c is exchanged
  EXPECT_EQ(2, partition.axes[0][2]);
  EXPECT_EQ(Cut(1), partition.homes[0][1]);
}

}  // namespace
}  // namespace layrub::partition
