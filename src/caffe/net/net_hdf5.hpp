#ifndef CAFFE_NET_NET_HDF5_HPP_
#define CAFFE_NET_NET_HDF5_HPP_

#include "caffe/net.hpp"

namespace caffe {

class AtomicFile;

/// What Net::ToHDF5 writes; to commit `file` is left to the caller. Aborts by AtomicFile::Fail.
template <typename Dtype>
void WriteNetToHdf5(const Net<Dtype>& net, bool write_diff, AtomicFile* file);

}  // namespace caffe

#endif  // CAFFE_NET_NET_HDF5_HPP_
