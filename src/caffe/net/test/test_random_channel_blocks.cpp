// Random nets of convolutions, and of layers that accept channels in blocks or do not, train to the
// same bits as without a plan.
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "caffe/net/test/nets_in_blocks.hpp"
#include "caffe/net/test/tight_training.hpp"

namespace caffe {
namespace {

/// A net of layers one after the other, each of which takes one or two of the values before it. All
/// values are images of one size.
class RandomNet {
 public:
  RandomNet() {
    text_ = R"(layer { name: "x" type: "DummyData" top: "x" dummy_data_param {
                 shape { dim: 2 dim: 32 dim: 6 dim: 7 }
                 data_filler { type: "gaussian" std: 1 } refill: false } })";
    values_.push_back({"x", 32});
    const int layers = *rc::gen::inRange(5, 16);
    for (int i = 0; i < layers; ++i) AddLayer();
    Add("Power", {values_.back()}, 0, "loss_weight: 0.001 power_param { power: 2 shift: -1 }");
  }
  const string& text() const { return text_; }

 private:
  struct Value {
    string name;
    int channels;
  };

  void Add(const string& type, const std::vector<Value>& bottoms, int channels,
           const string& more = "") {
    const string name = "v" + std::to_string(values_.size());
    text_ += "layer { name: '" + name + "' type: '" + type + "' top: '" + name + "' " + more;
    for (const Value& bottom : bottoms) text_ += " bottom: '" + bottom.name + "'";
    text_ += " }\n";
    values_.push_back({name, channels});
  }

  /// Chooses the newest value more often than others, because long chains use blocks.
  Value AnyValue() {
    const int back = *rc::gen::weightedElement<int>({{12, 0}, {1, 1}, {1, 2}, {1, 3}});
    return values_[std::max<int>(static_cast<int>(values_.size()) - 1 - back, 0)];
  }

  void AddConvolution(const Value& from) {
    const int outputs = *rc::gen::weightedElement<int>({{8, 32}, {2, 48}, {1, 24}});
    const int kernel = *rc::gen::weightedElement<int>({{9, 3}, {1, 1}});
    const int group = *rc::gen::weightedElement<int>({{9, 1}, {1, 2}});
    Add("Convolution", {from}, outputs,
        "convolution_param { weight_filler { type: 'msra' } num_output: " +
            std::to_string(outputs) + " kernel_size: " + std::to_string(kernel) +
            " pad: " + std::to_string(kernel / 2) + " group: " + std::to_string(group) + " }");
  }

  void AddLayer() {
    const Value from = AnyValue();
    const string type = *rc::gen::weightedElement<string>({{8, "Convolution"},
                                                           {2, "ReLU"},
                                                           {1, "Sigmoid"},
                                                           {1, "ELU"},
                                                           {2, "BatchNorm"},
                                                           {1, "LRN"},
                                                           {1, "Dropout"},
                                                           {1, "max"},
                                                           {1, "mean"},
                                                           {2, "Eltwise"},
                                                           {1, "Concat"},
                                                           {1, "Slice"}});
    if (type == "Convolution" || (type == "Slice" && from.channels <= 16))
      return AddConvolution(from);
    if (type == "max" || type == "mean") {
      return Add("Pooling", {from}, from.channels,
                 string("pooling_param { kernel_size: 3 pad: 1 stride: 1 pool: ") +
                     (type == "max" ? "MAX" : "AVE") + " }");
    }
    if (type == "Eltwise") {
      for (const Value& other : std::vector<Value>(values_)) {
        if (other.name != from.name && other.channels == from.channels)
          return Add("Eltwise", {from, other}, from.channels);
      }
      return AddConvolution(from);
    }
    if (type == "Concat") {
      const Value other = AnyValue();
      return Add("Concat", {from, other}, from.channels + other.channels);
    }
    if (type == "Slice") {
      const string rest = "rest" + std::to_string(values_.size());
      Add("Slice", {from}, 16, "top: '" + rest + "' slice_param { slice_point: 16 }");
      text_ += "layer { name: '" + rest + "' type: 'Silence' bottom: '" + rest + "' }\n";
      return;
    }
    Add(type, {from}, from.channels);
  }

  string text_;
  std::vector<Value> values_;
};

TEST(RandomChannelBlocks, TrainToTheSameBitsAsArrays) {
  int in_blocks = 0;
  EXPECT_TRUE(rc::check([&] {
    const RandomNet random;
    RC_LOG() << random.text();
    const NetParameter net = ParseNet(random.text());
    const string strategy =
        *rc::gen::element<string>("keep", "liveness", "intra", "inter", "hybrid", "superneurons");
    OpenSolver reference(SolverFor(net));
    const std::vector<float> unplanned = TrainUnplanned(&reference, 2);
    RC_PRE(AllFinite(unplanned));
    const SolverParameter param = SolverFor(net, strategy);
    OpenSolver solver(*rc::gen::arbitrary<bool>() ? WithinSmallestBudget(param) : param);
    solver.mutable_placement_extra()->executor.poison = true;
    solver.Step(2);
    in_blocks += solver.net()->planned()->values_in_blocks();
    RC_ASSERT(SameBits(TrainedState(&solver), unplanned));
  }));
  EXPECT_EQ(in_blocks > 0, HasBlocks());
}

}  // namespace
}  // namespace caffe
