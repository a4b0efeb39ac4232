#include "layrub/partition/search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace layrub::partition {
namespace {

/// The most states that the dynamic program keeps.
constexpr size_t kBeam = 4096;

/// Returns the bytes that each device of a pair receives when a value changes from one layout to
/// another on this level. `bytes`: what the pair has of the value.
double Received(Level from, Level to, double bytes) {
  const bool cut = from.share == Share::kCut, part = from.share == Share::kPart;
  switch (to.share) {
    case Share::kPart:
      return 0;
    case Share::kCut:
      if (part) return bytes / 2;
      return cut && from.dim != to.dim ? bytes / 4 : 0;
    case Share::kWhole:
    case Share::kPartGradient:
      if (part) return bytes;
      return cut ? bytes / 2 : 0;
  }
  return 0;
}

/// As Received, and for the gradient on the way back.
double ReceivedBothWays(Level from, Level to, double bytes, bool gradient) {
  return Received(from, to, bytes) +
         (gradient ? Received(OfGradient(to), OfGradient(from), bytes) : 0);
}

Level InputLevel(const Operation& op, int axis, size_t i) {
  if (axis < 0) return Whole();
  const int dim = op.axes[axis].inputs[i];
  return dim < 0 ? PartGradient() : Cut(dim);
}

Level OutputLevel(const Operation& op, int axis, size_t i) {
  if (axis < 0) return Whole();
  const int dim = op.axes[axis].outputs[i];
  return dim >= 0 ? Cut(dim) : dim == kGathered ? PartGradient() : Part();
}

Level ParamLevel(const Operation& op, int axis, size_t i) {
  if (axis < 0) return Whole();
  const int dim = op.axes[axis].params[i];
  if (dim >= 0) return Cut(dim);
  return op.params[i].gradient ? PartGradient() : Whole();
}

/// Returns the layout of a value or a parameter that is operand `i` of operation `op`. `level_of`
/// gives its level for an axis.
template <typename Array>
Layout LayoutOf(const Array& array, const Operation& operation, int op, int i,
                const Partition& partition, Level (*level_of)(const Operation&, int, size_t)) {
  Layout layout{array.dims, array.joined, {}};
  for (const std::vector<int>& level : partition.axes)
    layout.levels.push_back(level_of(operation, level[op], static_cast<size_t>(i)));
  return layout;
}

double Resident(Level level, double bytes) {
  return level.share == Share::kCut ? bytes / 2 : bytes;
}

/// The dynamic program of one level.
class LevelSearch {
 public:
  LevelSearch(const Network& network, const SearchGoal& wish, const Partition& done)
      : network_(network), wish_(wish), done_(done), last_use_(network.values.size(), -1) {
    for (size_t o = 0; o < network.operations.size(); ++o) {
      for (const int input : network.operations[o].inputs) last_use_[input] = static_cast<int>(o);
      for (const Parameter& param : network.operations[o].params) {
        if (param.shared < 0) continue;
        last_sharer_[param.shared] = static_cast<int>(o);
        ++sharers_[param.shared];
      }
    }
  }

  void Run(std::vector<int>* axes, std::vector<Level>* homes) {
    states_ = {{"", State{0, -1}}};
    for (size_t o = 0; o < network_.operations.size(); ++o) Advance(static_cast<int>(o));
    const auto best = std::min_element(
        states_.begin(), states_.end(),
        [](const auto& a, const auto& b) { return a.second.cost < b.second.cost; });
    axes->assign(network_.operations.size(), -1);
    homes->assign(network_.values.size(), Whole());
    int at = best->second.choice;
    for (int o = static_cast<int>(network_.operations.size()) - 1; o >= 0; --o) {
      const Choice& choice = choices_[at];
      (*axes)[o] = choice.axis;
      const std::vector<int>& outputs = network_.operations[o].outputs;
      for (size_t i = 0; i < outputs.size(); ++i) (*homes)[outputs[i]] = choice.homes[i];
      at = choice.before;
    }
  }

 private:
  /// The key of a state has one character for each entry of live_, in order: the home of a value
  /// that is read later, or the level of a parameter that a later layer shares.
  struct State {
    double cost;
    int choice;  ///< the latest one, index into choices_
  };
  struct Choice {
    int before;
    int axis;
    std::vector<Level> homes;
  };
  /// What a character of the key is about: a value, or (with value -1) the number of a shared
  /// parameter.
  struct Live {
    int value;
    int shared;
  };

  static char ToChar(Level level) {
    return level.share == Share::kCut ? static_cast<char>('0' + level.dim)
                                      : static_cast<char>('A' + static_cast<char>(level.share));
  }
  static Level ToLevel(char c) {
    return c >= 'A' ? Level{static_cast<Share>(c - 'A'), -1} : Cut(c - '0');
  }

  /// The part of operation `o` that a device computes after the levels that are done.
  double PartLeft(int o) const {
    double part = 1;
    for (const std::vector<int>& level : done_.axes) {
      if (level[o] >= 0) part /= 2;
    }
    return part;
  }
  double BytesOf(int value) const {
    auto bytes = static_cast<double>(network_.values[value].bytes);
    for (const std::vector<Level>& level : done_.homes) bytes = Resident(level[value], bytes);
    return bytes;
  }

  std::vector<int> AxesOf(int o) const {
    const Operation& op = network_.operations[o];
    const auto allowed = [&](int axis) {
      return !wish_.allows || wish_.allows(done_.levels(), o, axis);
    };
    std::vector<int> axes;
    for (int a = 0; a < static_cast<int>(op.axes.size()); ++a) {
      const bool even = op.axes[a].extent % (2 * Parts(done_, o, a)) == 0;
      const bool repeats = !wish_.same_on_all_levels || done_.axes.empty() || done_.axes[0][o] == a;
      if (even && repeats && allowed(a)) axes.push_back(a);
    }
    if (axes.empty() || (!wish_.cut_all && allowed(-1))) axes.push_back(-1);
    return axes;
  }

  std::vector<Level> HomesOf(int value, Level made, bool free) const {
    std::vector<Level> homes;
    const Layout layout = Home(network_, done_, value);
    const auto allowed = [&](Level level) {
      // The homes of the levels before may have cut this dimension where the operations did not.
      if (level.share == Share::kCut &&
          !CanCut(layout, level.dim, 2 * layrub::Parts(layout, level.dim)))
        return false;
      return !wish_.allows_home || wish_.allows_home(done_.levels(), value, level);
    };
    if (made.share != Share::kPart && allowed(made)) homes.push_back(made);
    if (!free) return homes.empty() ? std::vector<Level>{Whole()} : homes;
    const auto add = [&](Level level) {
      if (!allowed(level)) return;
      if (std::find(homes.begin(), homes.end(), level) == homes.end()) homes.push_back(level);
    };
    for (int d = 0; d < static_cast<int>(layout.dims.size()); ++d) add(Cut(d));
    add(Whole());
    if (network_.values[value].gradient) add(PartGradient());
    return homes.empty() ? std::vector<Level>{Whole()} : homes;
  }

  /// The cost of the operation without that of its inputs and of the homes of its outputs.
  double OwnCost(int o, int axis) const {
    const Operation& op = network_.operations[o];
    double cost = wish_.per_second * op.seconds * PartLeft(o) / (axis >= 0 ? 2 : 1);
    if (axis >= 0) {
      cost += wish_.per_byte *
              ReceivedBothWays(Cut(0), PartGradient(),
                               static_cast<double>(op.axes[axis].gathered_bytes) * PartLeft(o),
                               /*gradient=*/true);
    }
    for (size_t i = 0; i < op.params.size(); ++i) {
      auto bytes = static_cast<double>(op.params[i].bytes);
      for (const std::vector<int>& level : done_.axes)
        bytes = Resident(ParamLevel(op, level[o], i), bytes);
      if (op.params[i].shared >= 0) bytes /= sharers_.at(op.params[i].shared);
      const Level level = ParamLevel(op, axis, i);
      if (level.share == Share::kPartGradient) cost += wish_.per_byte * bytes;
      cost += wish_.per_resident * Resident(level, bytes) * (op.params[i].gradient ? 3 : 1);
    }
    return cost;
  }

  double HomeCost(int value, Level made, Level home) const {
    const double bytes = BytesOf(value);
    return wish_.per_byte * ReceivedBothWays(made, home, bytes, network_.values[value].gradient) +
           wish_.per_resident * Resident(home, bytes);
  }

  void Advance(int o) {
    const Operation& op = network_.operations[o];
    const std::vector<int> axes = AxesOf(o);
    // The possible homes of the outputs, with their cost, by axis.
    struct Way {
      int axis;
      double cost;
      std::vector<Level> homes;
    };
    std::vector<Way> ways;
    for (const int axis : axes) {
      std::vector<Way> of_axis{{axis, OwnCost(o, axis), {}}};
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        const Level made = OutputLevel(op, axis, i);
        std::vector<Way> longer;
        for (const Way& way : of_axis) {
          const bool free = op.outputs.size() <= 2 || wish_.allows_home;
          for (const Level home : HomesOf(op.outputs[i], made, free)) {
            longer.push_back(way);
            longer.back().cost += HomeCost(op.outputs[i], made, home);
            longer.back().homes.push_back(home);
          }
        }
        of_axis = std::move(longer);
      }
      ways.insert(ways.end(), of_axis.begin(), of_axis.end());
    }

    std::vector<Live> live;
    std::vector<int> kept;  // for each entry of live that was in live_: its index there
    for (size_t i = 0; i < live_.size(); ++i) {
      const Live& entry = live_[i];
      if ((entry.value >= 0 ? last_use_[entry.value] : last_sharer_[entry.shared]) <= o) continue;
      live.push_back(entry);
      kept.push_back(static_cast<int>(i));
    }
    std::vector<int> new_outputs, new_shared;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (last_use_[op.outputs[i]] > o) new_outputs.push_back(static_cast<int>(i));
    }
    for (size_t i = 0; i < op.params.size(); ++i) {
      const int shared = op.params[i].shared;
      if (shared >= 0 && last_sharer_[shared] > o && IndexOf({-1, shared}) < 0)
        new_shared.push_back(static_cast<int>(i));
    }
    for (const int i : new_outputs) live.push_back({op.outputs[i], -1});
    for (const int i : new_shared) live.push_back({-1, op.params[i].shared});

    std::map<std::string, State> next;
    for (const auto& [key, state] : states_) {
      std::vector<double> inputs(op.axes.size() + 1, -1);
      for (const Way& way : ways) {
        double& input_cost = inputs[way.axis + 1];
        if (input_cost < 0) input_cost = InputCost(op, key, way.axis);
        const double cost = state.cost + way.cost + input_cost;
        if (cost == std::numeric_limits<double>::infinity()) continue;
        std::string next_key;
        for (const int i : kept) next_key += key[i];
        for (const int i : new_outputs) next_key += ToChar(way.homes[i]);
        for (const int i : new_shared) next_key += ToChar(ParamLevel(op, way.axis, i));
        const auto found = next.find(next_key);
        if (found != next.end() && found->second.cost <= cost) continue;
        choices_.push_back({state.choice, way.axis, way.homes});
        next.insert_or_assign(next_key, State{cost, static_cast<int>(choices_.size()) - 1});
      }
    }
    states_ = Best(std::move(next));
    live_ = std::move(live);
  }

  /// Infinite if a shared parameter already has another level.
  double InputCost(const Operation& op, const std::string& key, int axis) const {
    double cost = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const int value = op.inputs[i];
      const Level home = ToLevel(key[IndexOf({value, -1})]), need = InputLevel(op, axis, i);
      cost += wish_.per_byte *
              ReceivedBothWays(home, need, BytesOf(value), network_.values[value].gradient);
    }
    for (size_t i = 0; i < op.params.size(); ++i) {
      const int at = op.params[i].shared < 0 ? -1 : IndexOf({-1, op.params[i].shared});
      if (at >= 0 && ToLevel(key[at]) != ParamLevel(op, axis, i))
        return std::numeric_limits<double>::infinity();
    }
    return cost;
  }

  int IndexOf(Live wanted) const {
    for (size_t i = 0; i < live_.size(); ++i) {
      if (live_[i].value == wanted.value && live_[i].shared == wanted.shared)
        return static_cast<int>(i);
    }
    return -1;
  }

  std::map<std::string, State> Best(std::map<std::string, State> states) const {
    const size_t most = wish_.greedy ? 1 : kBeam;
    if (states.size() <= most) return states;
    std::vector<double> costs;
    for (const auto& entry : states) costs.push_back(entry.second.cost);
    std::nth_element(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(most - 1),
                     costs.end());
    const double limit = costs[most - 1];
    std::map<std::string, State> best;
    for (auto& entry : states) {
      if (entry.second.cost <= limit && best.size() < most) best.insert(std::move(entry));
    }
    return best;
  }

  const Network& network_;
  const SearchGoal& wish_;
  const Partition& done_;
  std::vector<int> last_use_;       ///< by value: the last operation that reads it
  std::map<int, int> last_sharer_;  ///< by Parameter::shared
  std::map<int, int> sharers_;      ///< by Parameter::shared: how many layers share it
  std::vector<Live> live_;
  std::map<std::string, State> states_;
  std::vector<Choice> choices_;
};

}  // namespace

Partition Search(const Network& network, int levels, const SearchGoal& wish) {
  Partition partition;
  for (int level = 0; level < levels; ++level) {
    std::vector<int> axes;
    std::vector<Level> homes;
    LevelSearch(network, wish, partition).Run(&axes, &homes);
    partition.axes.push_back(std::move(axes));
    partition.homes.push_back(std::move(homes));
  }
  return partition;
}

Layout InputLayout(const Network& network, const Partition& partition, int op, int i) {
  const Operation& operation = network.operations[op];
  return LayoutOf(network.values[operation.inputs[i]], operation, op, i, partition, InputLevel);
}

Layout OutputLayout(const Network& network, const Partition& partition, int op, int i) {
  const Operation& operation = network.operations[op];
  return LayoutOf(network.values[operation.outputs[i]], operation, op, i, partition, OutputLevel);
}

Layout ParamLayout(const Network& network, const Partition& partition, int op, int i) {
  const Operation& operation = network.operations[op];
  return LayoutOf(operation.params[i], operation, op, i, partition, ParamLevel);
}

Layout Home(const Network& network, const Partition& partition, int value) {
  Layout layout{network.values[value].dims, network.values[value].joined, {}};
  for (const std::vector<Level>& level : partition.homes) layout.levels.push_back(level[value]);
  return layout;
}

int64_t BytesReceived(const Network& network, const Partition& partition) {
  const auto bytes = [](const Layout& from, const Layout& to, int64_t whole_bytes, bool gradient) {
    int64_t numbers = 1;
    for (const int64_t dim : from.dims) numbers *= dim;
    if (numbers == 0) return int64_t{0};
    int64_t received = MaxReceived(from, to);
    if (gradient) received += MaxReceived(to.OfGradient(), from.OfGradient());
    return received * (whole_bytes / numbers);
  };
  int64_t total = 0;
  std::vector<std::vector<Layout>> wanted(network.values.size());
  for (size_t o = 0; o < network.operations.size(); ++o) {
    const Operation& op = network.operations[o];
    const int id = static_cast<int>(o);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Value& value = network.values[op.inputs[i]];
      Layout need = InputLayout(network, partition, id, static_cast<int>(i));
      std::vector<Layout>& known = wanted[op.inputs[i]];
      if (std::find(known.begin(), known.end(), need) != known.end()) continue;
      total += bytes(Home(network, partition, op.inputs[i]), need, value.bytes, value.gradient);
      known.push_back(std::move(need));
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const Value& value = network.values[op.outputs[i]];
      total += bytes(OutputLayout(network, partition, id, static_cast<int>(i)),
                     Home(network, partition, op.outputs[i]), value.bytes, value.gradient);
    }
    int64_t all_parts = 1;
    for (size_t a = 0; a < op.axes.size(); ++a)
      all_parts *= Parts(partition, id, static_cast<int>(a));
    for (size_t a = 0; a < op.axes.size(); ++a) {
      // Each device has one part of the values inside and receives the others along this axis.
      const int64_t others = Parts(partition, id, static_cast<int>(a)) - 1;
      total += 2 * others * (op.axes[a].gathered_bytes / all_parts);
    }
    for (size_t i = 0; i < op.params.size(); ++i) {
      if (!op.params[i].gradient) continue;
      const Layout part = ParamLayout(network, partition, id, static_cast<int>(i)).OfGradient();
      total += bytes(part, part.Summed(), op.params[i].bytes, false);
    }
  }
  return total;
}

int Parts(const Partition& partition, int op, int axis) {
  int parts = 1;
  for (const std::vector<int>& level : partition.axes) {
    if (level[op] == axis) parts *= 2;
  }
  return parts;
}

}  // namespace layrub::partition
