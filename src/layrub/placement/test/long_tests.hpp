#ifndef LAYRUB_PLACEMENT_TEST_LONG_TESTS_HPP_
#define LAYRUB_PLACEMENT_TEST_LONG_TESTS_HPP_

#include <cstdlib>

namespace layrub::testing {

/// Whether to try much more than each change needs: `ctest -C long -L long` (docs/testing.md).
inline bool Long() { return std::getenv("LAYRUB_LONG_TESTS") != nullptr; }

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_LONG_TESTS_HPP_
