#include "layrub/bounds/absences.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "layrub/placement/cost/floor.hpp"

namespace layrub::bounds {
namespace {

using Tensors = std::vector<TensorId>;

/// A line goes back over so many operations at most,
constexpr int kLongestLine = 12;
/// and the last operation that has no room for two tensors is looked for among so many.
constexpr OpId kLookBack = 100;

bool Has(const Tensors& tensors, TensorId t) {
  return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
}

bool HasAny(const Tensors& tensors, const Tensors& some) {
  return std::any_of(some.begin(), some.end(), [&](TensorId t) { return Has(tensors, t); });
}

void AddOnce(TensorId t, Tensors* tensors) {
  if (!Has(*tensors, t)) tensors->push_back(t);
}

int64_t Most(const std::vector<int64_t>& bytes) {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

template <typename Forms, typename Get>
Tensors InAll(const Forms& forms, Get get) {
  Tensors all = get(forms.front());
  std::erase_if(all, [&](TensorId t) {
    return std::any_of(forms.begin(), forms.end(),
                       [&](const auto& form) { return !Has(get(form), t); });
  });
  return all;
}

}  // namespace

Absences::Absences(const Graph& graph, int64_t room)
    : graph_(graph),
      working_sets_(placement::cost::WorkingSets(graph)),
      room_(std::max(room, Most(working_sets_))),
      maker_(graph.tensors.size(), kNone),
      writer_(graph.tensors.size(), kNone),
      last_read_(graph.tensors.size(), kNone),
      survives_(graph.tensors.size(), true),
      copies_(graph.tensors.size()),
      seen_(graph.tensors.size()),
      returns_(graph.ops.size()) {
  for (const int64_t bytes : working_sets_) slack_.push_back(room_ - bytes);
  least_slack_ = room_ - Most(working_sets_);
  const int64_t all = std::accumulate(
      graph.tensors.begin(), graph.tensors.end(), int64_t{0},
      [](int64_t sum, const Tensor& tensor) { return sum + !tensor.persistent * tensor.bytes; });
  all_fits_ = all <= least_slack_;
  if (all_fits_) return;
  least_.push_back(slack_);
  for (size_t step = 1; 2 * step <= slack_.size(); step *= 2) {
    const std::vector<int64_t>& half = least_.back();
    std::vector<int64_t> both;
    for (size_t o = 0; o + step < half.size(); ++o)
      both.push_back(std::min(half[o], half[o + step]));
    least_.push_back(std::move(both));
  }
  const std::vector<OpId> maker = ForwardMakers(graph);
  for (OpId o = 0; o < Count(); ++o) Look(o, FindNeeds(graph, maker, graph.ops[o]));
  FindReturns();
  FindLeaves();
  FindForced();
  SortForced();
}

int64_t Absences::LeastSlack(OpId first, OpId last) const {
  const auto k = static_cast<size_t>(std::bit_width(static_cast<unsigned>(last - first)) - 1);
  return std::min(least_[k][first], least_[k][last - (OpId{1} << k)]);
}

void Absences::Look(OpId o, const Needs& needs) {
  const Op& op = graph_.ops[o];
  const auto persistent = [&](TensorId t) { return graph_.tensors[t].persistent; };
  Facts facts;
  facts.reads = InAll(needs.forms, [](const Form* form) { return form->reads; });
  facts.sure = InAll(op.forms, [](const Form& form) { return form.reads; });
  facts.writes = InAll(op.forms, [](const Form& form) { return form.writes; });
  for (const Form& form : op.forms) {
    for (const TensorId t : form.reads) AddOnce(t, &facts.operands);
    for (const TensorId t : form.writes) AddOnce(t, &facts.operands);
  }
  for (Tensors* some : {&facts.reads, &facts.sure, &facts.writes, &facts.operands}) {
    std::erase_if(*some, persistent);
    std::sort(some->begin(), some->end());
    some->erase(std::unique(some->begin(), some->end()), some->end());
  }
  for (const SavedCopy& one : needs.copies) AddOnce(one.copy, &copies_[one.original]);
  for (const Form& form : op.forms) {
    for (const TensorId t : form.writes) {
      if (persistent(t)) continue;
      if (op.repeatable && op.pass == Pass::kForward && maker_[t] == kNone) maker_[t] = o;
      // Overwritten without having been read, a value need not have been anywhere before.
      if (seen_[t] && !Has(facts.sure, t)) survives_[t] = false;
    }
  }
  for (const TensorId t : facts.operands) seen_[t] = true;
  for (const TensorId t : facts.sure) last_read_[t] = o;
  facts_.push_back(std::move(facts));
}

void Absences::FindReturns() {
  std::vector<std::pair<TensorId, TensorId>> original_of;  // of copies
  for (TensorId t = 0; t < static_cast<TensorId>(copies_.size()); ++t) {
    for (const TensorId copy : copies_[t]) original_of.push_back({copy, t});
  }
  std::sort(original_of.begin(), original_of.end());
  std::vector<OpId> touched(graph_.tensors.size(), kNone), writes(graph_.tensors.size());
  for (OpId o = 0; o < Count(); ++o) {
    Tensors& operands = facts_[o].operands;
    for (const TensorId t : facts_[o].reads) {
      if (touched[t] == kNone) continue;
      Return back{t, touched[t], kNone, o};
      if (Bytes(t) > least_slack_) {
        OpId a = o - 1;
        while (a > touched[t] && Bytes(t) <= slack_[a]) --a;
        if (a > touched[t]) back.absent = a;
      }
      returns_[o].push_back(back);
    }
    const Tensors own = operands;
    for (const TensorId t : own) {
      auto one = std::lower_bound(original_of.begin(), original_of.end(),
                                  std::pair<TensorId, TensorId>{t, kNone});
      for (; one != original_of.end() && one->first == t; ++one) AddOnce(one->second, &operands);
    }
    for (const TensorId t : operands) touched[t] = o;
    Tensors written;
    for (const Form& form : graph_.ops[o].forms) {
      for (const TensorId t : form.writes) AddOnce(t, &written);
    }
    for (const TensorId t : written)
      writer_[t] = writes[t]++ == 0 && graph_.ops[o].kind != OpKind::kFeed ? o : kNone;
  }
}

void Absences::FindLeaves() {
  for (OpId o = 0; o < Count(); ++o) {
    if (graph_.ops[o].kind == OpKind::kFeed) continue;
    for (const TensorId t : facts_[o].writes) {
      if (maker_[t] != kNone || !survives_[t] || Bytes(t) <= least_slack_) continue;
      OpId a = o + 1;
      while (a < last_read_[t] && (Bytes(t) <= slack_[a] || Has(facts_[a].operands, t)) &&
             !Has(facts_[a].writes, t))
        ++a;
      if (a < last_read_[t] && !Has(facts_[a].operands, t)) leaves_.push_back({t, o, a});
    }
  }
}

void Absences::FindForced() {
  for (OpId o = 0; o < Count(); ++o) {
    ForceByReading(o);
    for (const Return& back : returns_[o]) {
      if (back.absent != kNone && maker_[back.tensor] != kNone) ForceByMaking(back);
    }
  }
}

void Absences::SortForced() {
  const auto least = [&](const ForcedLoad& load) {
    int64_t bytes = std::numeric_limits<int64_t>::max();
    for (const Member& one : load.members) bytes = std::min(bytes, one.bytes);
    return bytes;
  };
  std::stable_sort(forced_.begin(), forced_.end(),
                   [&](const ForcedLoad& a, const ForcedLoad& b) { return least(a) > least(b); });
}

void Absences::ForceByReading(OpId o) {
  ForcedLoad load;
  if (!CannotBeMadeBeside(facts_[o].reads, o, kNone, &load)) return;
  load.read = o;
  forced_.push_back(std::move(load));
}

/// Whatever way a tensor takes to be made again, what it is made of comes back.
void Absences::ForceByMaking(const Return& back) {
  ForcedLoad load{back.absent, back.read, {}};
  Tensors made;
  OpId after = back.absent;  // no tensor in `made` is whole since before
  int64_t most = std::numeric_limits<int64_t>::max();
  for (TensorId t = back.tensor; static_cast<int>(made.size()) < kLongestLine;) {
    made.push_back(t);
    most = std::min(most, Bytes(t) - slack_[after]);
    const OpId o = maker_[t];
    load.members.clear();
    AddMembers(made, kNone, most, &load);
    const auto last = static_cast<int32_t>(made.size()) - 1;
    if (o == kNone || CannotBeMadeBeside(facts_[o].reads, after + 1, last, &load)) {
      load.after = std::min(load.after, after);
      forced_.push_back(std::move(load));
      return;
    }
    TensorId next = kNone;
    OpId absent = kNone;
    for (const TensorId u : facts_[o].reads) {
      if (Has(made, u) || (next != kNone && Bytes(u) <= Bytes(next))) continue;
      const OpId last = LastAbsence(u, after);
      if (last != kNone) next = u, absent = last;
    }
    if (next == kNone) return;
    t = next;
    after = absent;
  }
}

/// The last operation up to `until`, after the one that writes it, at which `t` cannot have a
/// range; kNone: none is near.
OpId Absences::LastAbsence(TensorId t, OpId until) const {
  if (Bytes(t) <= least_slack_ || writer_[t] == kNone) return kNone;
  for (OpId o = until; o > std::max(writer_[t], until - kLookBack); --o) {
    if (Bytes(t) > slack_[o] && !Has(facts_[o].operands, t)) return o;
  }
  return kNone;
}

/// Whether two of `reads` exclude each other; the last operation before `before` at which not both
/// can have a range goes to `load`, with the tensors of both lines, which make member `makes`.
bool Absences::CannotBeMadeBeside(const Tensors& reads, OpId before, int32_t makes,
                                  ForcedLoad* load) const {
  const OpId first = std::max<OpId>(0, before - kLookBack);
  for (size_t i = 0; i < reads.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int64_t bytes = std::min(Bytes(reads[i]), Bytes(reads[j]));
      if (bytes <= least_slack_) continue;
      const Line one = LineOf(reads[i], bytes), other = LineOf(reads[j], bytes);
      if (!Exclude(one, other, bytes)) continue;
      OpId o = before - 1;
      while (o >= first && Lacks(one, other, bytes, o) <= 0) --o;
      if (o < first) continue;
      load->after = o;
      const int64_t most = std::min({Lacks(one, other, bytes, o), one.lacks, other.lacks});
      AddMembers(one.members, makes, most, load);
      AddMembers(other.members, makes, most, load);
      return true;
    }
  }
  return false;
}

/// Each tensor of `line` is made of the next; copies serve instead of their originals. At least
/// `most` bytes of it come, or all.
void Absences::AddMembers(const Tensors& line, int32_t makes, int64_t most,
                          ForcedLoad* load) const {
  const auto first = static_cast<int32_t>(load->members.size());
  for (size_t i = 0; i < line.size(); ++i) {
    const int32_t next = i == 0 ? makes : first + static_cast<int32_t>(i) - 1;
    load->members.push_back({line[i], next, std::min(most, Bytes(line[i]))});
  }
  for (size_t i = 0; i < line.size(); ++i) {
    const int32_t next = load->members[first + i].makes;
    for (const TensorId copy : copies_[line[i]])
      load->members.push_back({copy, next, std::min(most, Bytes(copy))});
  }
}

bool Absences::Exclude(const Line& one, const Line& other, int64_t bytes) const {
  const auto apart = [&](const Line& a, const Line& b) {
    return std::none_of(a.ops.begin(), a.ops.end(),
                        [&](OpId o) { return HasAny(facts_[o].operands, b.all); });
  };
  return bytes > 0 && one.lacks > 0 && other.lacks > 0 && one.ops.back() != other.ops.back() &&
         apart(one, other) && apart(other, one);
}

/// The line of `t`, of tensors of `bytes` and more, to an operation that has no room for so many
/// beside its working set.
Absences::Line Absences::LineOf(TensorId t, int64_t bytes) const {
  Line line;
  while (t != kNone && !Has(line.members, t) && writer_[t] != kNone &&
         static_cast<int>(line.ops.size()) < kLongestLine) {
    const OpId o = writer_[t];
    line.members.push_back(t);
    AddOnce(t, &line.all);
    for (const TensorId copy : copies_[t]) AddOnce(copy, &line.all);
    line.ops.push_back(o);
    line.lacks = working_sets_[o] + bytes - room_;
    if (line.lacks > 0) return line;
    t = kNone;
    for (const TensorId u : facts_[o].sure) {
      if (Bytes(u) >= bytes && (t == kNone || Bytes(u) > Bytes(t))) t = u;
    }
  }
  return line;
}

/// How many bytes lack at operation `o` for `bytes` of each line.
int64_t Absences::Lacks(const Line& one, const Line& other, int64_t bytes, OpId o) const {
  int64_t all = working_sets_[o];
  for (const Line* line : {&one, &other}) {
    if (!HasAny(facts_[o].operands, line->all)) all += bytes;
  }
  return all - room_;
}

}  // namespace layrub::bounds
