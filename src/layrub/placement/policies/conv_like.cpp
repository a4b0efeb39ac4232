#include "layrub/placement/policies/conv_like.hpp"

namespace layrub::placement::policies {

bool IsConvLike(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kCompute) return false;
  const Variant& variant = op.variants.front();
  bool weights = false;
  double bytes = 0;
  for (const std::vector<TensorId>* operands : {&variant.reads, &variant.writes}) {
    for (const TensorId t : *operands) {
      const Tensor& tensor = graph.tensors[t];
      const bool weight =
          tensor.role == Role::kParameter || tensor.role == Role::kParameterGradient;
      weights |= weight;
      if (!weight) bytes += static_cast<double>(tensor.bytes);
    }
  }
  return weights && variant.flops > kConvLikeFlopsPerByte * bytes;
}

}  // namespace layrub::placement::policies
