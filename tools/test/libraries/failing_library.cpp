// A library for --load that throws while it is loaded.
#include <stdexcept>

namespace {

struct Throws {
  Throws() { throw std::runtime_error("this library never loads"); }
} throws;

}  // namespace
