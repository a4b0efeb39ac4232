#ifndef CAFFE_NET_NET_WEIGHTS_HPP_
#define CAFFE_NET_NET_WEIGHTS_HPP_

#include <string>

#include "caffe/net.hpp"

// The parameters of a net to and from messages and files, matched by the names of layers.
//
// In HDF5 they are /data/<layer>/<index of the parameter>, and /diff likewise; names of layers are
// escaped (hdf5_escape) where they have to be.

namespace caffe {

class AtomicFile;

/// Aborts, naming layer and shapes, where a layer has other parameters than those that are copied.
template <typename Dtype>
void CopyWeights(const NetParameter& from, Net<Dtype>* net);
/// By the file's name: HDF5 if it ends in .h5. Aborts with its name where it cannot be used; warns
/// where it has weights for no layer of the net.
template <typename Dtype>
void CopyWeightsOfFile(const string& file, Net<Dtype>* net);
template <typename Dtype>
void CopyWeightsOfBinaryFile(const string& file, Net<Dtype>* net);
template <typename Dtype>
void CopyWeightsOfHdf5File(const string& file, Net<Dtype>* net);

/// What Net::ToHDF5 writes; to commit `file` is left to the caller. Aborts by AtomicFile::Fail.
template <typename Dtype>
void WriteNetToHdf5(const Net<Dtype>& net, bool write_diff, AtomicFile* file);

}  // namespace caffe

#endif  // CAFFE_NET_NET_WEIGHTS_HPP_
