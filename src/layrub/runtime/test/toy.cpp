#include "layrub/runtime/test/toy.hpp"

#include <algorithm>
#include <cstring>

#include "layrub/device/device.hpp"

namespace layrub::testing {
namespace {

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

uint64_t HashOf(uint64_t hash, const uint8_t* bytes, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, static_cast<size_t>(std::min<int64_t>(8, count - i)));
    hash = Mix(hash ^ word);
  }
  return Mix(hash + static_cast<uint64_t>(count));
}

void Draw(uint64_t seed, uint8_t* bytes, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) {
    const uint64_t word = Mix(seed + static_cast<uint64_t>(i));
    std::memcpy(bytes + i, &word, static_cast<size_t>(std::min<int64_t>(8, count - i)));
  }
}

uint64_t SeedOf(uint64_t hash, TensorId tensor) {
  return Mix(hash ^ static_cast<uint64_t>(tensor));
}

}  // namespace

Interpreter::Interpreter(const Graph& graph) : graph_(graph), values_(graph.tensors.size()) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    values_[i].resize(static_cast<size_t>(tensor.bytes));
    if (tensor.is_state())
      Draw(SeedOf(1, static_cast<TensorId>(i)), values_[i].data(), tensor.bytes);
  }
}

uint64_t Interpreter::Seed(OpId op) const {
  return Mix(Mix(iteration_) + static_cast<uint64_t>(op));
}

std::vector<TensorId> Interpreter::CommonReads(OpId op) const {
  std::vector<TensorId> common = graph_.ops[op].variants[0].reads;
  for (const Variant& variant : graph_.ops[op].variants) {
    std::erase_if(common, [&](TensorId tensor) {
      return std::find(variant.reads.begin(), variant.reads.end(), tensor) == variant.reads.end();
    });
  }
  return common;
}

void Interpreter::Run(OpId op, int variant) {
  const bool fill = graph_.ops[op].kind == OpKind::kFill;
  const auto hash_of = [&](TensorId output) {
    uint64_t hash = Seed(op);
    for (const TensorId tensor : CommonReads(op)) {
      if (!Matters(op, variant, tensor, output)) continue;
      hash = HashOf(hash, values_[tensor].data(), graph_.tensors[tensor].bytes);
    }
    return SeedOf(hash, output);
  };
  // Seeds first: an operand may be updated in place.
  std::vector<uint64_t> seeds;
  const std::vector<TensorId>& writes = graph_.ops[op].variants[variant].writes;
  for (const TensorId tensor : writes) seeds.push_back(hash_of(tensor));
  for (size_t i = 0; i < writes.size(); ++i) {
    Bytes& value = values_[writes[i]];
    if (fill) {
      std::fill(value.begin(), value.end(), 0);
    } else {
      Draw(seeds[i], value.data(), graph_.tensors[writes[i]].bytes);
    }
  }
}

bool Interpreter::Matters(OpId op, int variant, TensorId input, TensorId output) const {
  const Variant& operands = graph_.ops[op].variants[variant];
  return TouchedByRecomputation(graph_, operands, input) ||
         !TouchedByRecomputation(graph_, operands, output);
}

void Interpreter::RunAll() {
  StartIteration();
  for (OpId op = 0; op < static_cast<OpId>(graph_.ops.size()); ++op) Run(op, 0);
}

void Toy::Attach(Executor* executor) {
  executor_ = executor;
  for (TensorId i = 0; i < static_cast<TensorId>(graph_.tensors.size()); ++i) {
    const Bytes& value = expected_.Value(i);
    if (!graph_.tensors[i].is_state() || value.empty()) continue;
    if (void* const address = executor->Address(i)) {
      std::memcpy(address, value.data(), value.size());
    } else {
      executor->SetHome(i, value.data());
    }
  }
  for (const Op& op : graph_.ops) {
    if (op.kind != OpKind::kFeed) continue;
    for (const TensorId i : op.variants[0].writes) fed_[i] = AllocateHost(graph_.tensors[i].bytes);
  }
}

void Toy::RunIteration() {
  expected_.StartIteration();
  next_ = 0;
  for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kUpdate}) {
    executor_->Run(pass, this);
  }
  CheckRest();
}

void Toy::Run(const Step& step) {
  const bool again = step.recompute;
  if (!again) {
    // The executor runs Fill operations itself, in graph order, too.
    for (; next_ < step.op; ++next_) expected_.Run(next_, 0);
    ++next_;
  }
  if (graph_.ops[step.op].kind == OpKind::kFeed) return Feed(step);
  launch_([this, work = WorkOf(step)] { Do(work); });
  if (!again) expected_.Run(step.op, step.variant);
}

/// Overwrites the host memory when the copies are done.
void Toy::Feed(const Step& step) {
  expected_.Run(step.op, step.variant);
  Backend* const backend = executor_->backend();
  std::vector<std::pair<uint8_t*, int64_t>> sources;
  for (const TensorId tensor : graph_.ops[step.op].variants[step.variant].writes) {
    const int64_t bytes = graph_.tensors[tensor].bytes;
    const HostMemory& from = fed_.at(tensor);
    std::memcpy(from.get(), expected_.Value(tensor).data(), static_cast<size_t>(bytes));
    backend->Copy(Lane::kLoad, executor_->Address(tensor), from.get(), bytes);
    sources.emplace_back(from.get(), bytes);
  }
  backend->Call(Lane::kLoad, [sources] {
    for (const auto& [from, bytes] : sources) std::memset(from, 0x5A, static_cast<size_t>(bytes));
  });
}

Toy::HostMemory Toy::AllocateHost(int64_t bytes) const {
  Device* const device = executor_->backend()->device();
  if (!device) return {new uint8_t[static_cast<size_t>(bytes)], [](uint8_t* at) { delete[] at; }};
  return {static_cast<uint8_t*>(device->AllocateHost(bytes)),
          [device](uint8_t* at) { device->FreeHost(at); }};
}

Toy::Work Toy::WorkOf(const Step& step) {
  Work work{step.op, ReadsOf(step), {}};
  const bool again = step.recompute;
  const Variant& variant = graph_.ops[step.op].variants[step.variant];
  for (const TensorId tensor : variant.writes) {
    if (again && !TouchedByRecomputation(graph_, variant, tensor)) continue;
    if (executor_->AddressInUse(tensor) != nullptr) {
      work.writes.push_back(WriteOf(step, tensor));
    } else if (graph_.tensors[tensor].role != Role::kSaved) {
      wrong_.push_back(graph_.ops[step.op].name + " has no place for " +
                       graph_.tensors[tensor].name);
    }
  }
  if (!variant.algorithms.empty() && variant.algorithms[step.algorithm].workspace != kNone) {
    const TensorId algorithm = variant.algorithms[step.algorithm].workspace;
    work.writes.push_back({static_cast<uint8_t*>(executor_->Address(algorithm)),
                           graph_.tensors[algorithm].bytes,
                           algorithm,
                           0,
                           {}});
  }
  return work;
}

std::vector<Toy::Read> Toy::ReadsOf(const Step& step) const {
  std::vector<Read> reads;
  const Variant& variant = graph_.ops[step.op].variants[step.variant];
  for (const TensorId tensor : variant.reads) {
    if (step.recompute && !TouchedByRecomputation(graph_, variant, tensor)) continue;
    reads.push_back(Expected(executor_->AddressInUse(tensor), tensor));
  }
  return reads;
}

Toy::Write Toy::WriteOf(const Step& step, TensorId output) const {
  Write write{static_cast<uint8_t*>(executor_->AddressInUse(output)),
              graph_.tensors[output].bytes,
              output,
              expected_.Seed(step.op),
              {}};
  for (const TensorId tensor : expected_.CommonReads(step.op)) {
    if (!expected_.Matters(step.op, step.variant, tensor, output)) continue;
    const uint8_t* address = static_cast<uint8_t*>(executor_->AddressInUse(tensor));
    write.inputs.emplace_back(address, address == nullptr ? 0 : graph_.tensors[tensor].bytes);
  }
  return write;
}

void Toy::Do(const Work& work) {
  for (const Read& read : work.reads) Expect(read, graph_.ops[work.op].name);
  // Seeds first: an output may lie on an operand.
  std::vector<uint64_t> seeds;
  for (const Write& write : work.writes) {
    uint64_t hash = write.seed;
    for (const auto& [address, bytes] : write.inputs) hash = HashOf(hash, address, bytes);
    seeds.push_back(SeedOf(hash, write.tensor));
  }
  for (size_t i = 0; i < work.writes.size(); ++i)
    Draw(seeds[i], work.writes[i].address, work.writes[i].bytes);
}

void Toy::CheckRest() {
  for (; next_ < static_cast<OpId>(graph_.ops.size()); ++next_) expected_.Run(next_, 0);
  for (TensorId i = 0; i < static_cast<TensorId>(graph_.tensors.size()); ++i) {
    if (graph_.tensors[i].is_state()) Expect(Expected(executor_->Find(i), i), "the end");
  }
  for (const TensorId tensor : executor_->plan().readable) {
    Expect(Expected(executor_->Find(tensor), tensor), "the end");
  }
}

Toy::Read Toy::Expected(const void* address, TensorId tensor) const {
  const Bytes& value = expected_.Value(tensor);
  return {static_cast<const uint8_t*>(address), tensor,
          HashOf(0, value.data(), static_cast<int64_t>(value.size()))};
}

void Toy::Expect(const Read& read, const std::string& where) {
  const Tensor& tensor = graph_.tensors[read.tensor];
  if (read.address == nullptr) {
    wrong_.push_back(tensor.name + " has no place at " + where);
  } else if (HashOf(0, read.address, tensor.bytes) != read.hash) {
    wrong_.push_back(tensor.name + " is wrong at " + where);
  }
}

}  // namespace layrub::testing
