#ifndef CAFFE_NET_NET_PROBLEMS_HPP_
#define CAFFE_NET_NET_PROBLEMS_HPP_

#include <string>

namespace caffe {

class NetParameter;

/// Finds all problems of a net before any layer is made: unknown types and fillers, bottoms that no
/// layer produces, tops that two layers produce, wrong numbers of propagate_down. Returns one line
/// for each, like "net.prototxt:12: Unknown bottom blob ...", or "" if there is none.
///
/// `net` has the layers of one phase, `unfiltered` those of all phases.
std::string NetProblems(const NetParameter& net, const NetParameter& unfiltered);

}  // namespace caffe

#endif  // CAFFE_NET_NET_PROBLEMS_HPP_
