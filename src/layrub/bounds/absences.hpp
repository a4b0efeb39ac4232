#ifndef LAYRUB_BOUNDS_ABSENCES_HPP_
#define LAYRUB_BOUNDS_ABSENCES_HPP_

#include <cstdint>
#include <vector>

#include "layrub/bounds/needs.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::bounds {

/// `tensor` is whole at operation `read` because that reads it. An operation before uses it last,
/// `touched`; after that one it cannot be whole at `absent` (kNone: always can).
struct Return {
  TensorId tensor = kNone;
  OpId touched = kNone;
  OpId absent = kNone;
  OpId read = kNone;
};

/// Operation `made` writes `tensor`, which nothing makes again and somebody reads after `absent`,
/// at which it cannot be whole.
struct Leave {
  TensorId tensor = kNone;
  OpId made = kNone;
  OpId absent = kNone;
};

/// A tensor of which at least `bytes` may come over the link, to make another of
/// ForcedLoad::members of it; `makes` is its index, kNone where it serves as it is.
struct Member {
  TensorId tensor = kNone;
  int32_t makes = kNone;
  int64_t bytes = 0;
};

/// After operation `after` and before `read` at least one of `members` comes over the link, and
/// those after it on its way are made again. A member that makes another follows that.
struct ForcedLoad {
  OpId after = kNone;
  OpId read = kNone;
  std::vector<Member> members;
};

/// What all plans within `room` bytes beside the persistent tensors, or the least that any plan
/// needs, have in common, in the order of their steps. There what is not among an operation's
/// operands has no more bytes than its slack: of what is larger, the rest is away.
class Absences {
 public:
  Absences(const Graph& graph, int64_t room);

  /// Bytes that an operation leaves beside its working set.
  int64_t Slack(OpId o) const { return slack_[o]; }
  /// The least slack of operations from `first` to before `last`; first < last. Not where AllFits.
  int64_t LeastSlack(OpId first, OpId last) const;
  int64_t WorkingSet(OpId o) const { return working_sets_[o]; }
  /// The operation that makes `t` again; kNone: none.
  OpId MakerAgain(TensorId t) const { return maker_[t]; }
  /// The only operation that writes `t`; kNone: several do.
  OpId Writer(TensorId t) const { return writer_[t]; }
  /// Whether every operation has room for all tensors there are.
  bool AllFits() const { return all_fits_; }

  /// What any form of operation `o` has as an operand, persistent tensors left out, and the
  /// originals of copies among them.
  const std::vector<TensorId>& Operands(OpId o) const { return facts_[o].operands; }

  /// All returns to operation `o`.
  const std::vector<Return>& ReturnsTo(OpId o) const { return returns_[o]; }
  const std::vector<Leave>& Leaves() const { return leaves_; }
  /// Two tensors of which none can be made beside the other: where an operation reads both, some of
  /// one has come over the link: what lacks where they do not both fit, or where one was made. A
  /// tensor is made from others of its size, on the same bytes or beside them; its line goes back
  /// to an operation for which there is no room beside the other tensor. The line that begins last
  /// of the two begins with a load, of any tensor in it. Those that move the most bytes at least
  /// come first.
  const std::vector<ForcedLoad>& ForcedLoads() const { return forced_; }

 private:
  using Tensors = std::vector<TensorId>;
  /// What operation has to do with which tensors, persistent ones left out.
  struct Facts {
    Tensors operands;  ///< of any form, and the originals of copies among them
    Tensors reads;     ///< of all forms that count (see Needs)
    Tensors sure;      ///< reads of all forms
    Tensors writes;    ///< of all forms
  };
  /// From a tensor back to the operation that it cannot be made without.
  struct Line {
    Tensors members;  ///< each made of the next
    Tensors all;      ///< these and their copies
    std::vector<OpId> ops;
    int64_t lacks = 0;  ///< bytes that lack for the last of `ops`; for the others there is room
  };

  OpId Count() const { return static_cast<OpId>(graph_.ops.size()); }
  int64_t Bytes(TensorId t) const { return graph_.tensors[t].bytes; }
  void Look(OpId o, const Needs& needs);
  void FindReturns();
  void FindLeaves();
  void FindForced();
  void SortForced();
  void ForceByReading(OpId o);
  void ForceByMaking(const Return& back);
  bool CannotBeMadeBeside(const Tensors& reads, OpId before, int32_t makes, ForcedLoad* load) const;
  void AddMembers(const Tensors& line, int32_t makes, int64_t most, ForcedLoad* load) const;
  OpId LastAbsence(TensorId t, OpId until) const;
  bool Exclude(const Line& one, const Line& other, int64_t bytes) const;
  Line LineOf(TensorId t, int64_t bytes) const;
  int64_t Lacks(const Line& one, const Line& other, int64_t bytes, OpId o) const;

  const Graph& graph_;
  const std::vector<int64_t> working_sets_;
  const int64_t room_;
  int64_t least_slack_ = 0;
  bool all_fits_ = false;
  std::vector<int64_t> slack_;
  std::vector<std::vector<int64_t>> least_;  ///< [k][o]: the least slack of 2^k from o on
  std::vector<Facts> facts_;
  std::vector<OpId> maker_;
  std::vector<OpId> writer_;
  std::vector<OpId> last_read_;  ///< by tensor, the last operation that reads it in all its forms
  std::vector<bool> survives_;   ///< by tensor: nobody overwrites it without having read it
  std::vector<Tensors> copies_;  ///< by tensor, see SavedCopy
  std::vector<bool> seen_;       ///< by tensor: an operation so far has it as an operand
  std::vector<std::vector<Return>> returns_;  ///< by operation
  std::vector<Leave> leaves_;
  std::vector<ForcedLoad> forced_;
};

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_ABSENCES_HPP_
