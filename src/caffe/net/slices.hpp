#ifndef CAFFE_NET_SLICES_HPP_
#define CAFFE_NET_SLICES_HPP_

#include "caffe/placement.hpp"
#include "flat_net.hpp"

namespace caffe {

/// Replaces ranges of layers of an unfolded net by `slicing.parts` copies of them, each for a part
/// of the batch, with the same parameters. Changes nothing if that does not help. Blobs in `keep`
/// stay whole.
///
/// A range consists of layers that can be sliced (MemoryTraits::sliceable) and have no parameters
/// in common with others. A value that comes into a range is cut, one that leaves it is joined, and
/// for that it must be there twice. So each range reaches from the layers with too many bytes to
/// the nearest places where values are small enough.
///
/// The copy of a range for the last items comes first. So the backward passes run in the order of
/// the items, and gradients of parameters are summed in the order in which the whole layer does it.
template <typename Dtype>
void SliceLayers(const Net<Dtype>& net, const vector<string>& keep, const Slicing& slicing,
                 FlatNet<Dtype>* flat);

}  // namespace caffe

#endif  // CAFFE_NET_SLICES_HPP_
