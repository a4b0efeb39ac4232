#include "caffe/util/rng.hpp"

#include <locale>
#include <sstream>

namespace caffe {

namespace {

rng_t* GeneratorOf(Caffe::RNG* random) { return static_cast<rng_t*>(random->generator()); }

}  // namespace

shared_ptr<Caffe::RNG> CopyOf(Caffe::RNG* random) {
  const shared_ptr<Caffe::RNG> copy(new Caffe::RNG(rng_t::default_seed));
  *GeneratorOf(copy.get()) = *GeneratorOf(random);
  return copy;
}

std::string StateOf(Caffe::RNG* random) {
  std::ostringstream text;
  text.imbue(std::locale::classic());  // no commas between thousands
  text << *GeneratorOf(random);
  return text.str();
}

bool SetState(const std::string& state, Caffe::RNG* random) {
  std::istringstream text(state + " ");  // so that the last number, too, is followed by a blank
  text.imbue(std::locale::classic());
  rng_t generator;
  text >> generator;
  if (text.fail() || text.peek() != std::istringstream::traits_type::eof()) return false;
  *GeneratorOf(random) = generator;
  return true;
}

}  // namespace caffe
