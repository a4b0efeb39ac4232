#ifndef LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_

#include <string>

#include "layrub/base/status.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::strategies {

/// The strategy called `name`, a policy or auto; kInvalid listing the names there are.
Result<policies::Strategy> FindStrategy(const std::string& name);

}  // namespace layrub::placement::strategies

#endif  // LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_
