#ifndef CAFFE_NET_DROPPED_VALUE_HPP_
#define CAFFE_NET_DROPPED_VALUE_HPP_

#include <boost/weak_ptr.hpp>
#include <string>

#include "caffe/syncedmem.hpp"

namespace caffe {

/// Stands in memory for a value that is nowhere any more: reading it aborts with `message`. Whoever
/// writes the memory gets ordinary, zero-filled memory. Must not outlive the use of `memory`'s
/// bond: its end leaves untouched memory behind.
class DroppedValue : public Resolver {
 public:
  DroppedValue(const shared_ptr<SyncedMemory>& memory, const string& message)
      : memory_(memory), message_(message) {
    binding_.resolver = this;
    memory->Bind(&binding_);
  }
  ~DroppedValue() override {
    const shared_ptr<SyncedMemory> memory = memory_.lock();
    if (memory && memory->binding() == &binding_) memory->Unbind(nullptr, 0);
  }
  Place Resolve(int /*tensor*/, bool write) override {
    CHECK(write) << message_;
    shared_ptr<SyncedMemory>(memory_)->Unbind(nullptr, 0);
    return {};
  }
  /// Makes memory that holds a dropped value untouched memory, which is zero.
  static void Forget(SyncedMemory* memory) {
    const Binding* const binding = memory->binding();
    if (binding && dynamic_cast<DroppedValue*>(binding->resolver)) memory->Unbind(nullptr, 0);
  }
  void Copied(int /*tensor*/, bool /*on_device*/) override {}

 private:
  boost::weak_ptr<SyncedMemory> memory_;
  Binding binding_;
  string message_;

  DISABLE_COPY_AND_ASSIGN(DroppedValue);
};

}  // namespace caffe

#endif  // CAFFE_NET_DROPPED_VALUE_HPP_
