#ifndef CAFFE_NET_NET_PROBLEMS_HPP_
#define CAFFE_NET_NET_PROBLEMS_HPP_

#include <string>

namespace caffe {

class NetParameter;

/// What is wrong with a net before any layer is made, all of it: types and fillers that are not
/// known, bottoms that nobody makes, tops that two make, propagate_down that does not fit. A line
/// each, as "net.prototxt:12: Unknown bottom blob ...", and "" where there is none.
///
/// `net` has the layers of one phase, `unfiltered` those of all.
std::string NetProblems(const NetParameter& net, const NetParameter& unfiltered);

}  // namespace caffe

#endif  // CAFFE_NET_NET_PROBLEMS_HPP_
