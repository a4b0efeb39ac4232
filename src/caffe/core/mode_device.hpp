#ifndef CAFFE_CORE_MODE_DEVICE_HPP_
#define CAFFE_CORE_MODE_DEVICE_HPP_

namespace layrub {
class Device;
}

namespace caffe {

/// Returns the device on which the calling thread's blobs keep their values: the thread's device in
/// GPU mode, null in CPU mode or if there is no GPU (in a CPU-only build, for example). If null,
/// blobs are only on the host until somebody requests their GPU side.
layrub::Device* ModeDevice();

}  // namespace caffe

#endif  // CAFFE_CORE_MODE_DEVICE_HPP_
