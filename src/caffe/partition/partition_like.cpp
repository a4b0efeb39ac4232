#include <map>

#include "caffe/partition.hpp"

namespace caffe {
namespace {

using layrub::Level;
using layrub::partition::Operation;
using layrub::partition::Partition;
using layrub::partition::SearchGoal;

/// Returns for each parameter the dimension that is cut if `axis` is, or -1 for none.
vector<int> ParamDims(const Operation& op, int axis) {
  return axis < 0 ? vector<int>(op.params.size(), -1) : op.axes[axis].params;
}

/// A sum to which a bias is added: its value in the other net, and the dimension of its channels.
struct SumInOther {
  int value;
  int channel;
};

}  // namespace

Partition PartitionLike(const NetAxes& net, const NetAxes& other, const Partition& partition) {
  std::map<string, int> by_name;
  for (size_t o = 0; o < other.network.operations.size(); ++o)
    by_name[other.network.operations[o].name] = static_cast<int>(o);
  const auto in_other = [&](const Operation& op) {
    const auto found = by_name.find(op.name);
    return found == by_name.end() ? -1 : found->second;
  };
  // A bias that is added to a sum is cut as the sum is.
  std::map<int, SumInOther> sums;
  for (const Operation& op : net.network.operations) {
    const int same = in_other(op);
    if (same < 0) continue;
    const vector<LayerAxis>& axes = other.rules[same].axes;
    for (size_t a = 0; a < axes.size(); ++a) {
      if (!axes[a].on_sum.type().empty() && Parts(partition, same, static_cast<int>(a)) > 1) {
        sums[op.outputs[0]] = {other.network.operations[same].outputs[0],
                               axes[a].on_sum.bias_param().axis()};
      }
    }
  }
  SearchGoal wish;
  wish.allows = [&](int level, int o, int axis) {
    const Operation& op = net.network.operations[o];
    const int same = in_other(op);
    return same < 0 || ParamDims(op, axis) ==
                           ParamDims(other.network.operations[same], partition.axes[level][same]);
  };
  wish.allows_home = [&](int level, int value, Level home) {
    const auto found = sums.find(value);
    if (found == sums.end()) return true;
    const Level cut = layrub::Cut(found->second.channel);
    return (home == cut) == (partition.homes[level][found->second.value] == cut);
  };
  return Search(net.network, partition.levels(), wish);
}

}  // namespace caffe
