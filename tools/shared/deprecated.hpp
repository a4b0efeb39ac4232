#ifndef TOOLS_SHARED_DEPRECATED_HPP_
#define TOOLS_SHARED_DEPRECATED_HPP_

#include <iostream>

namespace tools {

/// The body of a program that only names its replacement.
inline int SayDeprecated(const char* instead) {
  std::cerr << "Deprecated. Use " << instead << " instead." << std::endl;
  return 1;
}

}  // namespace tools

#endif  // TOOLS_SHARED_DEPRECATED_HPP_
