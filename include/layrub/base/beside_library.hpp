#ifndef LAYRUB_BASE_BESIDE_LIBRARY_HPP_
#define LAYRUB_BASE_BESIDE_LIBRARY_HPP_

#include <string>

namespace layrub {

/// Returns the path of the file `name` in the folder of libcaffe, or of the program if libcaffe is
/// linked into it.
std::string PathBesideLibrary(const std::string& name);

}  // namespace layrub

#endif  // LAYRUB_BASE_BESIDE_LIBRARY_HPP_
