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

/// Returns an independent generator that draws the same numbers as `random`.
shared_ptr<Caffe::RNG> CopyOf(Caffe::RNG* random);
/// Returns the state of a generator as text, for SetState.
std::string StateOf(Caffe::RNG* random);
/// Sets the state of a generator. Returns false, and changes nothing, if `state` is invalid.
bool SetState(const std::string& state, Caffe::RNG* random);

/// Shuffles [begin, end) with the Fisher-Yates algorithm from the last element down, with one draw
/// per element.
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
