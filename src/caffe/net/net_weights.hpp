#ifndef CAFFE_NET_NET_WEIGHTS_HPP_
#define CAFFE_NET_NET_WEIGHTS_HPP_

#include <string>

#include "caffe/net.hpp"

// Copies the parameters of a net to and from messages and files. Layers are matched by name.
//
// In HDF5 files, a parameter is /data/<layer>/<index of the parameter>, and likewise in /diff.
// Layer names are escaped (hdf5_escape) where necessary.

namespace caffe {

class AtomicFile;

/// Aborts, naming the layer and the shapes, if a layer's parameters do not match the copied ones.
template <typename Dtype>
void CopyWeights(const NetParameter& from, Net<Dtype>* net);
/// Reads the file as HDF5 if its name ends in .h5. Aborts with its name if it cannot be used. Warns
/// if it has weights for none of the net's layers.
template <typename Dtype>
void CopyWeightsOfFile(const string& file, Net<Dtype>* net);
template <typename Dtype>
void CopyWeightsOfBinaryFile(const string& file, Net<Dtype>* net);
template <typename Dtype>
void CopyWeightsOfHdf5File(const string& file, Net<Dtype>* net);

/// Writes the contents of Net::ToHDF5. The caller commits `file`. Aborts by AtomicFile::Fail.
template <typename Dtype>
void WriteNetToHdf5(const Net<Dtype>& net, bool write_diff, AtomicFile* file);

}  // namespace caffe

#endif  // CAFFE_NET_NET_WEIGHTS_HPP_
