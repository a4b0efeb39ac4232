#include "caffe/kernels/math/solver_update.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

namespace {

enum class Rule : uint8_t {
  kScale,
  kDecayL2,
  kDecayL1,
  kSgd,
  kNesterov,
  kAdaGrad,
  kRmsProp,
  kAdaDelta,
  kAdam,
  kSubtract
};

/// The numeric arguments of a rule, in the order of its function's parameters.
template <typename Dtype>
struct Numbers {
  Dtype a = 0, b = 0, c = 0, d = 0;
};

/// The arrays of a parameter. A rule with one array of history or squares uses `first`.
template <typename Dtype>
struct Arrays {
  Dtype *weight, *gradient, *first, *second;
};

/// The values of Arrays at one index.
template <typename Dtype>
struct Values {
  Dtype weight, gradient, first, second;
};

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Sign(Dtype x) {
  return static_cast<Dtype>((x > 0) - (x < 0));
}

/// Applies a rule to one element. All paths use this function.
template <typename Dtype>
LAYRUB_HOST_DEVICE void Apply(Rule rule, const Numbers<Dtype>& numbers, Values<Dtype>* values) {
  const Dtype a = numbers.a, b = numbers.b, c = numbers.c, g = values->gradient;
  switch (rule) {
    case Rule::kScale:
      values->gradient = g * a;
      break;
    case Rule::kDecayL2:
      values->gradient = g + a * values->weight;
      break;
    case Rule::kDecayL1:
      values->gradient = g + a * Sign(values->weight);
      break;
    case Rule::kSgd:
      values->gradient = values->first = b * values->first + a * g;
      break;
    case Rule::kNesterov: {
      const Dtype before = values->first;
      values->first = b * before + a * g;
      values->gradient = (1 + b) * values->first - b * before;
      break;
    }
    case Rule::kAdaGrad:
      values->first += g * g;
      values->gradient = a * g / (std::sqrt(values->first) + b);
      break;
    case Rule::kRmsProp:
      values->first = b * values->first + (1 - b) * g * g;
      values->gradient = a * g / (std::sqrt(values->first) + c);
      break;
    case Rule::kAdaDelta: {
      const Dtype before = values->second;
      values->first = b * values->first + (1 - b) * g * g;
      const Dtype way = g * std::sqrt((before + c) / (values->first + c));
      values->second = b * before + (1 - b) * way * way;
      values->gradient = a * way;
      break;
    }
    case Rule::kAdam:
      values->first = b * values->first + (1 - b) * g;
      values->second = c * values->second + (1 - c) * g * g;
      values->gradient = a * values->first / (std::sqrt(values->second) + numbers.d);
      break;
    case Rule::kSubtract:
      values->weight -= g;
  }
}

LAYRUB_HOST_DEVICE constexpr bool HasWeight(Rule rule) {
  return rule == Rule::kDecayL2 || rule == Rule::kDecayL1 || rule == Rule::kSubtract;
}
LAYRUB_HOST_DEVICE constexpr bool HasSecond(Rule rule) {
  return rule == Rule::kAdaDelta || rule == Rule::kAdam;
}
LAYRUB_HOST_DEVICE constexpr bool HasFirst(Rule rule) {
  return HasSecond(rule) || rule == Rule::kSgd || rule == Rule::kNesterov ||
         rule == Rule::kAdaGrad || rule == Rule::kRmsProp;
}
LAYRUB_HOST_DEVICE constexpr bool WritesWeight(Rule rule) { return rule == Rule::kSubtract; }

/// Applies one rule, without access to arrays that the rule does not use.
template <Rule rule, typename Dtype>
struct FromArrays {
  Numbers<Dtype> numbers;
  Arrays<Dtype> arrays;
  LAYRUB_HOST_DEVICE Values<Dtype> operator()(int64_t i) const {
    Values<Dtype> values{0, arrays.gradient[i], 0, 0};
    if constexpr (HasWeight(rule)) values.weight = arrays.weight[i];
    if constexpr (HasFirst(rule)) values.first = arrays.first[i];
    if constexpr (HasSecond(rule)) values.second = arrays.second[i];
    Apply(rule, numbers, &values);
    return values;
  }
};
template <Rule rule, typename Dtype>
struct ToArrays {
  Arrays<Dtype> to;
  LAYRUB_HOST_DEVICE void operator()(int64_t i, const Values<Dtype>& values) const {
    if constexpr (HasFirst(rule)) to.first[i] = values.first;
    if constexpr (HasSecond(rule)) to.second[i] = values.second;
    if constexpr (WritesWeight(rule)) {
      to.weight[i] = values.weight;
    } else {
      to.gradient[i] = values.gradient;
    }
  }
};
template <Rule rule, typename Dtype>
void ForEach(const DeviceContext& context, int64_t n, const Numbers<Dtype>& numbers,
             const Arrays<Dtype>& arrays) {
  ParallelFor(context, n, FromArrays<rule, Dtype>{numbers, arrays}, ToArrays<rule, Dtype>{arrays});
}

/// Steps of one parameter: Normalize, Regularize, ComputeUpdateValue, Update.
constexpr int kMostSteps = 4;

template <typename Dtype>
struct UpdateStep {
  Rule rule;
  Numbers<Dtype> numbers;
};

/// Applies one rule to the values [begin, end), on the CPU.
template <Rule rule, typename Dtype>
void RunRule(const Numbers<Dtype>& numbers, const Arrays<Dtype>& arrays, int64_t begin,
             int64_t end) {
  const FromArrays<rule, Dtype> from{numbers, arrays};
  const ToArrays<rule, Dtype> to{arrays};
  RunBody([=](int64_t i) { to(i, from(i)); }, begin, end);
}
template <typename Dtype>
void RunStep(const UpdateStep<Dtype>& step, const Arrays<Dtype>& arrays, int64_t begin,
             int64_t end) {
  using Run = void (*)(const Numbers<Dtype>&, const Arrays<Dtype>&, int64_t, int64_t);
  static constexpr Run kByRule[] = {
      RunRule<Rule::kScale, Dtype>,    RunRule<Rule::kDecayL2, Dtype>,
      RunRule<Rule::kDecayL1, Dtype>,  RunRule<Rule::kSgd, Dtype>,
      RunRule<Rule::kNesterov, Dtype>, RunRule<Rule::kAdaGrad, Dtype>,
      RunRule<Rule::kRmsProp, Dtype>,  RunRule<Rule::kAdaDelta, Dtype>,
      RunRule<Rule::kAdam, Dtype>,     RunRule<Rule::kSubtract, Dtype>};
  kByRule[static_cast<int>(step.rule)](step.numbers, arrays, begin, end);
}

template <typename Dtype>
struct GatheredUpdate {
  int64_t n;
  Arrays<Dtype> arrays;  ///< null if no step uses the array
  int count;
  UpdateStep<Dtype> steps[kMostSteps];

  LAYRUB_HOST_DEVICE bool Writes(bool weight) const {
    for (int i = 0; i < count; ++i) {
      if (WritesWeight(steps[i].rule) == weight) return true;
    }
    return false;
  }
};

/// Bytes of kernel parameters that every GPU allows.
constexpr size_t kMostBytes = 4000;
template <typename Dtype>
constexpr int kMostUpdates = static_cast<int>(kMostBytes /
                                              (sizeof(GatheredUpdate<Dtype>) + sizeof(int)));

template <typename Dtype>
struct UpdateTable {
  int count;
  int first_block[kMostUpdates<Dtype>];
  GatheredUpdate<Dtype> updates[kMostUpdates<Dtype>];
};

/// Values per tile on the CPU. A tile stays in the first-level cache while all steps use it.
constexpr int64_t kTile = 1024;

template <typename Dtype>
void RunInTiles(const GatheredUpdate<Dtype>& update) {
  CpuFor((update.n + kTile - 1) / kTile, update.n > kGrain, [&](int64_t tile) {
    const int64_t begin = tile * kTile, end = std::min(begin + kTile, update.n);
    for (int s = 0; s < update.count; ++s) RunStep(update.steps[s], update.arrays, begin, end);
  });
}

#if LAYRUB_LAUNCHES
/// Elements per block.
constexpr int kBlockValues = kBlock * kElementsPerThread;

template <typename Dtype>
__global__ void __launch_bounds__(kBlock) UpdateKernel(const UpdateTable<Dtype> table) {
  const int block = static_cast<int>(blockIdx.x);
  int at = 0;
  while (at + 1 < table.count && table.first_block[at + 1] <= block) ++at;
  const GatheredUpdate<Dtype>& update = table.updates[at];
  const Arrays<Dtype> arrays = update.arrays;
  const bool weight = update.Writes(true), gradient = update.Writes(false);
  const int64_t begin = int64_t{block - table.first_block[at]} * kBlockValues + threadIdx.x;
  for (int k = 0; k < kElementsPerThread; ++k) {
    const int64_t i = begin + k * kBlock;
    if (i >= update.n) return;
    Values<Dtype> values{0, arrays.gradient[i], 0, 0};
    if (arrays.weight != nullptr) values.weight = arrays.weight[i];
    if (arrays.first != nullptr) values.first = arrays.first[i];
    if (arrays.second != nullptr) values.second = arrays.second[i];
    for (int s = 0; s < update.count; ++s)
      Apply(update.steps[s].rule, update.steps[s].numbers, &values);
    if (arrays.first != nullptr) arrays.first[i] = values.first;
    if (arrays.second != nullptr) arrays.second[i] = values.second;
    if (gradient) arrays.gradient[i] = values.gradient;
    if (weight) arrays.weight[i] = values.weight;
  }
}
#endif

/// Sets *with to `array` if it is null. Returns false if both are set and differ.
template <typename Dtype>
bool Join(Dtype* array, Dtype** with) {
  if (array == nullptr || *with == array) return true;
  if (*with != nullptr) return false;
  *with = array;
  return true;
}

}  // namespace

template <typename Dtype>
class UpdateBatch<Dtype>::Gathered {
 public:
  void Add(const DeviceContext& context, int64_t n, const UpdateStep<Dtype>& step,
           const Arrays<Dtype>& arrays) {
    if (n == 0) return;
    if (context.gpu != context_.gpu || context.launch != context_.launch) Finish();
    if (Continues(n, step, arrays)) return;
    if (table_.count == kMostUpdates<Dtype> || Touches(table_.count, n, arrays)) Finish();
    context_ = context;
    table_.updates[table_.count++] = {n, arrays, 1, {step}};
  }

  void Finish() {
    if (table_.count == 0) return;
    UpdateTable<Dtype> table = table_;
    table_.count = 0;  // cleared first, because the launch finishes deferred work
    if (!context_.launch) {
      const HostKernel scope(context_);
      for (int i = 0; i < table.count; ++i) RunInTiles(table.updates[i]);
      return;
    }
#if LAYRUB_LAUNCHES
    int64_t blocks = 0;
    for (int i = 0; i < table.count; ++i) {
      table.first_block[i] = static_cast<int>(blocks);
      blocks += (table.updates[i].n + kBlockValues - 1) / kBlockValues;
    }
    Launch(context_, Barriers::kNone, blocks, kBlock, UpdateKernel<Dtype>, table);
    ++launches;
#endif
  }

  int64_t launches = 0;

 private:
  /// Appends the step to the last update if it belongs to the same parameter. Returns whether it
  /// did.
  bool Continues(int64_t n, const UpdateStep<Dtype>& step, const Arrays<Dtype>& arrays) {
    if (table_.count == 0) return false;
    GatheredUpdate<Dtype>& last = table_.updates[table_.count - 1];
    Arrays<Dtype> joined = last.arrays;
    if (last.n != n || joined.gradient != arrays.gradient || last.count == kMostSteps ||
        !Join(arrays.weight, &joined.weight) || !Join(arrays.first, &joined.first) ||
        !Join(arrays.second, &joined.second) || Touches(table_.count - 1, n, joined))
      return false;
    last.arrays = joined;
    last.steps[last.count++] = step;
    return true;
  }

  /// Whether one of the arrays, of n values, overlaps one of the first `count` updates.
  bool Touches(int count, int64_t n, const Arrays<Dtype>& arrays) const {
    const auto each = [](const Arrays<Dtype>& of, const auto& test) {
      return test(of.weight) || test(of.gradient) || test(of.first) || test(of.second);
    };
    for (int i = 0; i < count; ++i) {
      const GatheredUpdate<Dtype>& other = table_.updates[i];
      const bool touches = each(arrays, [&](const Dtype* a) {
        return a != nullptr && each(other.arrays, [&](const Dtype* b) {
                 return b != nullptr && a < b + other.n && b < a + n;
               });
      });
      if (touches) return true;
    }
    return false;
  }

  DeviceContext context_;
  UpdateTable<Dtype> table_{};
};

template <typename Dtype>
UpdateBatch<Dtype>::UpdateBatch() : gathered_(new Gathered) {}
template <typename Dtype>
UpdateBatch<Dtype>::~UpdateBatch() = default;
template <typename Dtype>
void UpdateBatch<Dtype>::Finish() {
  gathered_->Finish();
}
template <typename Dtype>
typename UpdateBatch<Dtype>::Gathered& UpdateBatch<Dtype>::Gather(const DeviceContext& context) {
  this->gpu_ = context.gpu;
  return *gathered_;
}
template <typename Dtype>
int64_t UpdateBatch<Dtype>::launches() const {
  return gathered_->launches;
}

namespace {

template <Rule rule, typename Dtype>
void Run(const DeviceContext& context, int64_t n, const Numbers<Dtype>& numbers,
         const Arrays<Dtype>& arrays) {
  auto* const batch = dynamic_cast<UpdateBatch<Dtype>*>(DeferredWork::Current());
  if (batch != nullptr) {
    batch->Gather(context).Add(context, n, {rule, numbers}, arrays);
  } else {
    ForEach<rule>(context, n, numbers, arrays);
  }
}

}  // namespace

template <typename Dtype>
void Scale(const DeviceContext& context, int64_t n, Dtype factor, Dtype* gradient) {
  Run<Rule::kScale, Dtype>(context, n, {factor}, {nullptr, gradient, nullptr, nullptr});
}

template <typename Dtype>
void AddDecayL2(const DeviceContext& context, int64_t n, Dtype decay, const Dtype* weight,
                Dtype* gradient) {
  Run<Rule::kDecayL2, Dtype>(context, n, {decay},
                             {const_cast<Dtype*>(weight), gradient, nullptr, nullptr});
}

template <typename Dtype>
void AddDecayL1(const DeviceContext& context, int64_t n, Dtype decay, const Dtype* weight,
                Dtype* gradient) {
  Run<Rule::kDecayL1, Dtype>(context, n, {decay},
                             {const_cast<Dtype*>(weight), gradient, nullptr, nullptr});
}

template <typename Dtype>
void SgdUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype momentum, Dtype* gradient,
               Dtype* history) {
  Run<Rule::kSgd, Dtype>(context, n, {rate, momentum}, {nullptr, gradient, history, nullptr});
}

template <typename Dtype>
void NesterovUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype momentum,
                    Dtype* gradient, Dtype* history) {
  Run<Rule::kNesterov, Dtype>(context, n, {rate, momentum}, {nullptr, gradient, history, nullptr});
}

template <typename Dtype>
void AdaGradUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype delta,
                   Dtype* gradient, Dtype* squares) {
  Run<Rule::kAdaGrad, Dtype>(context, n, {rate, delta}, {nullptr, gradient, squares, nullptr});
}

template <typename Dtype>
void RmsPropUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype delta,
                   Dtype* gradient, Dtype* squares) {
  Run<Rule::kRmsProp, Dtype>(context, n, {rate, decay, delta},
                             {nullptr, gradient, squares, nullptr});
}

template <typename Dtype>
void AdaDeltaUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype delta,
                    Dtype* gradient, Dtype* squares, Dtype* steps) {
  Run<Rule::kAdaDelta, Dtype>(context, n, {rate, decay, delta},
                              {nullptr, gradient, squares, steps});
}

template <typename Dtype>
void AdamUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype decay2,
                Dtype delta, Dtype* gradient, Dtype* mean, Dtype* squares) {
  Run<Rule::kAdam, Dtype>(context, n, {rate, decay, decay2, delta},
                          {nullptr, gradient, mean, squares});
}

template <typename Dtype>
void SubtractStep(const DeviceContext& context, int64_t n, const Dtype* step, Dtype* weight) {
  Run<Rule::kSubtract, Dtype>(context, n, {}, {weight, const_cast<Dtype*>(step), nullptr, nullptr});
}

template <typename Dtype>
void SumSquares(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* sum) {
  ParallelReduce<Dtype>(
      context, 1, n, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i] * x[i]; },
      [=] LAYRUB_HOST_DEVICE(int64_t, Dtype total) { sum[0] = total; });
}

template <typename Dtype>
void ClipFactor(const DeviceContext& context, int64_t n, const Dtype* squares, Dtype limit,
                Dtype* norm, Dtype* factor) {
  ParallelFor(context, 1, [=] LAYRUB_HOST_DEVICE(int64_t) {
    Dtype sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += squares[i];
    norm[0] = std::sqrt(sum);
    factor[0] = norm[0] > limit ? limit / norm[0] : Dtype(1);
  });
}

template <typename Dtype>
void ScaleBy(const DeviceContext& context, int64_t n, const Dtype* factor, Dtype* gradient) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    if (factor[0] != Dtype(1)) gradient[i] *= factor[0];
  });
}

#define INSTANTIATE(Dtype)                                                                         \
  template class UpdateBatch<Dtype>;                                                               \
  template void Scale<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype*);                        \
  template void AddDecayL2<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*);     \
  template void AddDecayL1<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*);     \
  template void SgdUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype*, Dtype*);     \
  template void NesterovUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype*,         \
                                      Dtype*);                                                     \
  template void AdaGradUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype*, Dtype*); \
  template void RmsPropUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype, Dtype*,   \
                                     Dtype*);                                                      \
  template void AdaDeltaUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype, Dtype*,  \
                                      Dtype*, Dtype*);                                             \
  template void AdamUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype, Dtype,       \
                                  Dtype*, Dtype*, Dtype*);                                         \
  template void SubtractStep<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);          \
  template void SumSquares<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);            \
  template void ClipFactor<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype, Dtype*,      \
                                  Dtype*);                                                         \
  template void ScaleBy<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
