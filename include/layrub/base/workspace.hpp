#ifndef LAYRUB_BASE_WORKSPACE_HPP_
#define LAYRUB_BASE_WORKSPACE_HPP_

#include <cstdint>
#include <vector>

namespace layrub {

/// Bytes of workspace that an operation is granted where nobody weighs its bytes against its time.
inline constexpr int64_t kWorkspaceCap = int64_t{64} << 20;

/// What is known of one way to run an operation, each with a workspace of its own size.
struct WorkspaceCost {
  int64_t bytes = 0;
  double seconds = 0;  ///< 0: unknown
  bool deterministic = true;
};

/// The choice that depends on nothing but the operation: the fastest reproducible workspace of at
/// most kWorkspaceCap bytes, the smaller one of two that are equally fast. Where no speed is known,
/// or all reproducible ones are larger, the smallest of these. -1 if none is reproducible.
int GrantedWorkspace(const std::vector<WorkspaceCost>& choices);

}  // namespace layrub

#endif  // LAYRUB_BASE_WORKSPACE_HPP_
