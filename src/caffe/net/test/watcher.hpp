#ifndef CAFFE_NET_TEST_WATCHER_HPP_
#define CAFFE_NET_TEST_WATCHER_HPP_

#include <vector>

#include "caffe/net.hpp"

namespace caffe {

/// Notes a value of blob conv1 each time it is called for one of the layers 1 to 4.
class Watcher : public Net<float>::Callback {
 public:
  explicit Watcher(Net<float>* net) : net_(net) {}
  std::vector<float> seen;

 protected:
  void run(int layer) override {
    if (layer >= 1 && layer <= 4) seen.push_back(net_->blob_by_name("conv1")->cpu_data()[3]);
  }

 private:
  Net<float>* const net_;
};

}  // namespace caffe

#endif  // CAFFE_NET_TEST_WATCHER_HPP_
