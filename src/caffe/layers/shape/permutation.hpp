#ifndef CAFFE_LAYERS_SHAPE_PERMUTATION_HPP_
#define CAFFE_LAYERS_SHAPE_PERMUTATION_HPP_

#include <iterator>
#include <vector>

namespace caffe {

/// Whether [begin, end) is a permutation of 0 .. end - begin - 1; checks an order that was read
/// from a file.
template <typename Iterator>
bool IsPermutation(Iterator begin, Iterator end) {
  std::vector<bool> seen(static_cast<size_t>(std::distance(begin, end)));
  for (; begin != end; ++begin) {
    if (*begin >= seen.size() || seen[*begin]) return false;
    seen[*begin] = true;
  }
  return true;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_SHAPE_PERMUTATION_HPP_
