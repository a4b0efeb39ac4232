#ifndef LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_

#include <functional>
#include <string>

#include "layrub/base/status.hpp"
#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/search_options.hpp"

namespace layrub::placement::strategies {

/// A pure function. If nothing that it can choose fits the budget, returns the one that needs the
/// fewest bytes.
using Strategy =
    std::function<Result<schedule::Choice>(const Graph&, const Machine&, const Budget&)>;

/// Returns the strategy called `name`: a policy, or auto, which searches with `options`. If there
/// is none, returns kInvalid listing the names.
Result<Strategy> FindStrategy(const std::string& name, const SearchOptions& options = {});

}  // namespace layrub::placement::strategies

#endif  // LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_
