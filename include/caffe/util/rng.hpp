#ifndef CAFFE_RNG_CPP_HPP_
#define CAFFE_RNG_CPP_HPP_

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int.hpp>
#include <iterator>
#include <string>

#include "caffe/common.hpp"

namespace caffe {

typedef boost::mt19937 rng_t;

/// The calling thread's generator.
inline rng_t* caffe_rng() { return static_cast<rng_t*>(Caffe::rng_stream().generator()); }

/// A generator of its own that will draw what `random` would.
shared_ptr<Caffe::RNG> CopyOf(Caffe::RNG* random);
/// The state of a generator as text, for SetState.
std::string StateOf(Caffe::RNG* random);
/// Goes on from there. False, and nothing changes, where `state` is none.
bool SetState(const std::string& state, Caffe::RNG* random);

/// Shuffles [begin, end) by Fisher and Yates' method from the last element down, one draw for each.
template <class RandomAccessIterator, class RandomGenerator>
inline void shuffle(RandomAccessIterator begin, RandomAccessIterator end, RandomGenerator* gen) {
  typedef typename std::iterator_traits<RandomAccessIterator>::difference_type difference_type;
  typedef typename boost::uniform_int<difference_type> dist_type;
  for (difference_type last = std::distance(begin, end) - 1; last > 0; --last) {
    dist_type choice(0, last);
    std::iter_swap(begin + last, begin + choice(*gen));
  }
}

template <class RandomAccessIterator>
inline void shuffle(RandomAccessIterator begin, RandomAccessIterator end) {
  shuffle(begin, end, caffe_rng());
}

}  // namespace caffe

#endif  // CAFFE_RNG_CPP_HPP_
