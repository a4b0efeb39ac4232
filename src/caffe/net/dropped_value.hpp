#ifndef CAFFE_NET_DROPPED_VALUE_HPP_
#define CAFFE_NET_DROPPED_VALUE_HPP_

#include <boost/weak_ptr.hpp>
#include <string>

#include "caffe/syncedmem.hpp"

namespace caffe {

/// Marks memory whose value no longer exists. Reading it aborts with `message`. A caller that
/// writes it gets ordinary memory, filled with zeros. Its destructor leaves untouched memory
/// behind, if `memory` is still bound to it.
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
  /// If memory holds a dropped value, makes it untouched memory, which reads as zero.
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
