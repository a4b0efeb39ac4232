#ifndef CAFFE_CORE_MODE_DEVICE_HPP_
#define CAFFE_CORE_MODE_DEVICE_HPP_

namespace layrub {
class Device;
}

namespace caffe {

/// The device that the calling thread's blobs share their values with: in GPU mode the thread's,
/// null in CPU mode and where GPU mode has no GPU (in a CPU-only build, say). Blobs then live on
/// the host alone, until somebody asks for their GPU side.
layrub::Device* ModeDevice();

}  // namespace caffe

#endif  // CAFFE_CORE_MODE_DEVICE_HPP_
