#ifndef CAFFE_NET_TEST_GROWING_SOURCE_HPP_
#define CAFFE_NET_TEST_GROWING_SOURCE_HPP_

#include "caffe/layer.hpp"

namespace caffe {

/// A source whose batch has another size from its second pass on.
class GrowingLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestGrowing"; }
  void Reshape(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->Reshape({passes_ >= 1 ? 4 : 2, 3});
  }
  MemoryTraits Traits(const vector<Blob<float>*>&, const vector<Blob<float>*>&,
                      const vector<bool>&) const override {
    MemoryTraits traits;
    traits.declared = true;
    traits.repeatable = false;
    traits.forward = {"only", {}, {TopData(0)}, {}, 0, 0};
    return traits;
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    ++passes_;
    for (int i = 0; i < top[0]->count(); ++i) top[0]->mutable_cpu_data()[i] = passes_ + i;
  }
  int passes_ = 0;
};

inline LayerRegisterer<float> register_growing("TestGrowing", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new GrowingLayer(param));
});

}  // namespace caffe

#endif  // CAFFE_NET_TEST_GROWING_SOURCE_HPP_
