#include "layrub/placement/policies/policies.hpp"

#include <array>

namespace layrub::placement::policies {

std::span<const Policy> Policies() {
  static constexpr std::array<Policy, 12> kPolicies{{
      {.name = "keep", .decide = Keep, .keeps_what_fits = true},
      {"liveness", Liveness},
      {"intra", Intra},
      {"inter", Inter},
      {"hybrid", Hybrid},
      {"sqrt", Sqrt},
      {"vdnn_all", VdnnAll},
      {"vdnn_all_fast", VdnnAllFast},
      {"vdnn_conv", VdnnConv},
      {"vdnn_conv_fast", VdnnConvFast},
      {.name = "vdnn_dyn", .decide = VdnnDyn, .uses_budget = true},
      {.name = "superneurons", .decide = SuperNeurons, .uses_budget = true},
  }};
  return kPolicies;
}

}  // namespace layrub::placement::policies
