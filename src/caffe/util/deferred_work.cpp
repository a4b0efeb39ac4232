#include "caffe/util/deferred_work.hpp"

namespace caffe {

thread_local DeferredWork* DeferredWork::current_ = nullptr;
thread_local int DeferredWork::Operands::count_ = 0;

}  // namespace caffe
