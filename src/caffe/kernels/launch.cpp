#include "caffe/kernels/launch.hpp"

#include "caffe/common.hpp"
#include "caffe/kernels/require.hpp"
#include "caffe/util/deferred_work.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace kernels {

void RequirementFailed(const char* what) { LOG(FATAL) << what; }

void HostKernel::Begin() { device_->BeginKernel(); }
void HostKernel::End() { device_->EndKernel(); }

void PrepareLaunch(const DeviceContext& context) {
  DeferredWork::FinishCurrent();
  if (context.device != nullptr) context.device->MakeCurrent();  // whose stream it is
}

}  // namespace kernels
}  // namespace caffe
