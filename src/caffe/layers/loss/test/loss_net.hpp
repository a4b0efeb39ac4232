#ifndef CAFFE_LAYERS_LOSS_TEST_LOSS_NET_HPP_
#define CAFFE_LAYERS_LOSS_TEST_LOSS_NET_HPP_

// A small net that ends in a loss, and training of it.

#include "caffe/net/test/training.hpp"

namespace caffe {

/// A net whose last layer is `loss`, which names its bottoms.
inline NetParameter NetWith(const string& loss) {
  return ParseNet(R"(
    layer { name: "data" type: "DummyData" top: "data" top: "label" top: "target" top: "same" top: "H"
            dummy_data_param { shape { dim: 8 dim: 6 } shape { dim: 8 } shape { dim: 8 dim: 4 }
                               shape { dim: 8 } shape { dim: 4 dim: 4 }
                               data_filler { type: "gaussian" }
                               data_filler { type: "uniform" min: 0 max: 3.5 }
                               data_filler { type: "uniform" max: 1.5 }
                               data_filler { type: "uniform" max: 2 }
                               data_filler { value: 0.75 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "tanh" type: "TanH" bottom: "ip1" top: "ip1" }
    layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" top: "loss" bottom: "ip2" )" +
                  loss + " }");
}

/// The parameters after training, under a plan unless `strategy` is empty.
inline vector<float> Train(const string& loss, const string& strategy) {
  OpenSolver solver(SolverFor(NetWith(loss), strategy));
  if (!strategy.empty()) {
    solver.mutable_placement_extra()->executor.poison = true;
    solver.Step(3);
    EXPECT_NE(solver.net()->planned(), nullptr);
  } else {
    for (int i = 0; i < 3; ++i) {
      solver.net()->ClearParamDiffs();
      solver.net()->ForwardBackward();
      solver.ApplyUpdate();
    }
  }
  return TrainedState(&solver);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_LOSS_TEST_LOSS_NET_HPP_
