#ifndef LAYRUB_BASE_BESIDE_LIBRARY_HPP_
#define LAYRUB_BASE_BESIDE_LIBRARY_HPP_

#include <string>

namespace layrub {

/// The path of a file of this name in the folder of libcaffe, or of the program where that is a
/// part of it.
std::string BesideLibrary(const std::string& name);

}  // namespace layrub

#endif  // LAYRUB_BASE_BESIDE_LIBRARY_HPP_
