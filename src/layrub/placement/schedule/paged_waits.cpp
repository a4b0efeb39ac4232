#include "layrub/placement/schedule/paged_waits.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace layrub::placement::schedule {
namespace {

/// For each lane, the last step that matters; kNone: none.
struct Steps {
  std::array<int32_t, kLanes> last{kNone, kNone, kNone};
  void Add(Lane lane, int32_t step) {
    int32_t& own = last[Index(lane)];
    own = std::max(own, step);
  }
  void Add(const Steps& other) {
    for (int lane = 0; lane < kLanes; ++lane) last[lane] = std::max(last[lane], other.last[lane]);
  }
};

/// Bytes that one copy, or piece of one, touches.
struct Page {
  int64_t bytes = 0;
  Steps written;  ///< who has to have finished before they are read: who writes them comes first
  Steps touched;  ///< and before they are written
};

/// The bytes of a tensor, and of those that lie on it: which pages, and how many are bound to them.
struct Pages {
  int32_t first = 0;
  int32_t count = 0;
  int32_t bound = 1;
};

/// The bytes of all pages but the last of each tensor, so that pieces of copies take one each.
int64_t PageBytes(const Plan& plan) {
  int64_t most = 0;
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::kFree) most = std::max(most, step.bytes);
  }
  return most > 0 ? most : std::numeric_limits<int64_t>::max();
}

class Pager {
 public:
  Pager(const Graph& graph, int64_t bytes, Plan* plan)
      : graph_(graph),
        plan_(*plan),
        page_bytes_(PageBytes(*plan)),
        of_{std::vector<int32_t>(graph.tensors.size(), kNone),
            std::vector<int32_t>(graph.tensors.size(), kNone)},
        number_(plan->steps.size()) {
    free_.push_back({bytes, {}});
  }

  bool Run() {
    const std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    plan_.steps.reserve(2 * steps.size());
    size_t pass = 0;
    const std::array<int32_t, 3> ends = plan_.pass_end;
    for (int32_t i = 0; i < static_cast<int32_t>(steps.size()); ++i) {
      for (; pass < ends.size() && ends[pass] == i; ++pass) plan_.pass_end[pass] = Count();
      if (!Take(steps[i], i)) return false;
    }
    for (; pass < ends.size(); ++pass) plan_.pass_end[pass] = Count();
    return true;
  }

 private:
  int32_t Count() const { return static_cast<int32_t>(plan_.steps.size()); }
  Pages& Of(Tier tier, TensorId t) { return pages_[of_[Index(tier)][t]]; }
  bool Has(Tier tier, TensorId t) const { return of_[Index(tier)][t] != kNone; }

  bool Take(const Step& step, int32_t number) {
    switch (step.kind) {
      case StepKind::kAlloc:
        if (!Alloc(step)) return false;
        break;
      case StepKind::kFree:
        Free(step);
        break;
      case StepKind::kAlias:
        of_[0][step.tensor] = of_[0][step.on];
        ++Of(Tier::kDevice, step.tensor).bound;
        break;
      default:
        Wait(step);
        number_[number] = Count();
        Note(step, number);
    }
    plan_.steps.push_back(step);
    return true;
  }

  bool Alloc(const Step& step) {
    const bool device = step.tier == Tier::kDevice;
    if (device && Has(Tier::kDevice, step.tensor)) return Grow(step.tensor);
    Pages pages{static_cast<int32_t>(page_.size()), 0, 1};
    int64_t left = Aligned(graph_.tensors[step.tensor].bytes);
    do {
      Page page{std::min(left, page_bytes_), {}, {}};
      if (device && !TakeBytes(&page)) return false;
      left -= page.bytes;
      page_.push_back(page);
      ++pages.count;
    } while (left > 0);
    of_[Index(step.tier)][step.tensor] = static_cast<int32_t>(pages_.size());
    pages_.push_back(pages);
    return true;
  }

  bool TakeBytes(Page* page) {
    for (int64_t need = page->bytes; need > 0;) {
      if (free_.empty()) return false;
      auto& [bytes, touched] = free_.front();
      page->touched.Add(touched);
      const int64_t taken = std::min(need, bytes);
      need -= taken;
      bytes -= taken;
      if (bytes == 0) free_.pop_front();
    }
    return true;
  }

  /// What a part lacks.
  bool Grow(TensorId t) {
    int64_t left = Aligned(graph_.tensors[t].bytes);
    for (Page& page : PagesOf(Of(Tier::kDevice, t))) {
      Page more{std::min(left, page_bytes_) - page.bytes, {}, {}};
      left -= page.bytes + more.bytes;
      if (!TakeBytes(&more)) return false;
      page.bytes += more.bytes;
      page.touched.Add(more.touched);
    }
    return true;
  }

  /// All but the first `kept` bytes of a range.
  void Shrink(const Pages& pages, int64_t kept) {
    for (Page& page : PagesOf(pages)) {
      const int64_t stays = std::min(page.bytes, kept);
      kept -= stays;
      if (stays == page.bytes) continue;
      free_.emplace_back(page.bytes - stays, page.touched);
      page.bytes = stays;
      if (stays == 0) page = {};
    }
  }

  void Free(const Step& step) {
    Pages& pages = Of(step.tier, step.tensor);
    if (step.bytes > 0) return Shrink(pages, step.bytes);
    if (--pages.bound == 0 && step.tier == Tier::kDevice) {
      for (const Page& page : PagesOf(pages)) free_.emplace_back(page.bytes, page.touched);
    }
    of_[Index(step.tier)][step.tensor] = kNone;
  }

  std::span<Page> PagesOf(const Pages& pages) {
    return {page_.data() + pages.first, static_cast<size_t>(pages.count)};
  }

  /// What the copy `step` touches in a tier.
  std::span<Page> Copied(Tier tier, const Step& step) {
    const std::span<Page> pages = PagesOf(Of(tier, step.tensor));
    if (step.bytes == 0) return pages;
    const auto first = static_cast<size_t>(step.offset / page_bytes_);
    const auto last = static_cast<size_t>((step.offset + step.bytes - 1) / page_bytes_);
    return pages.subspan(first, last - first + 1);
  }

  /// Calls f(page, whether it is written) for all that `step` touches.
  template <typename F>
  void ForEach(const Step& step, const F& f) {
    if (step.op == kNone) {
      const bool down = step.kind == StepKind::kOffload;
      for (Page& page : Copied(Tier::kDevice, step)) f(page, !down);
      for (Page& page : Copied(Tier::kHost, step)) f(page, down);
      return;
    }
    const Form& form = graph_.ops[step.op].forms[step.form];
    const auto touch = [&](TensorId t, bool writes) {
      const bool counts = t != kNone && !graph_.tensors[t].persistent;
      if (!counts || !Has(Tier::kDevice, t)) return;
      for (Page& page : PagesOf(Of(Tier::kDevice, t))) f(page, writes);
    };
    for (const TensorId t : form.reads) touch(t, false);
    for (const TensorId t : form.writes) touch(t, true);
    if (!form.scratch.empty()) touch(form.scratch[step.scratch].tensor, true);
  }

  void Wait(const Step& step) {
    Steps needed;
    ForEach(step, [&](const Page& page, bool writes) {
      needed.Add(writes ? page.touched : page.written);
    });
    Steps& known = known_[Index(step.lane)];
    for (int lane = 0; lane < kLanes; ++lane) {
      if (lane == static_cast<int>(step.lane) || needed.last[lane] <= known.last[lane]) continue;
      Step wait;
      wait.kind = StepKind::kWait;
      wait.lane = step.lane;
      wait.step = number_[needed.last[lane]];
      plan_.steps.push_back(wait);
      known.last[lane] = needed.last[lane];
    }
  }

  void Note(const Step& step, int32_t number) {
    ForEach(step, [&](Page& page, bool writes) {
      page.touched.Add(step.lane, number);
      if (writes) page.written.Add(step.lane, number);
    });
  }

  const Graph& graph_;
  Plan& plan_;
  const int64_t page_bytes_;
  std::array<std::vector<int32_t>, 2> of_;  ///< by tier and tensor: index into pages_
  std::vector<Pages> pages_;
  std::vector<Page> page_;
  std::deque<std::pair<int64_t, Steps>> free_;  ///< bytes, and who touched them; free longest first
  std::array<Steps, kLanes> known_;             ///< what the next step of a lane comes after
  std::vector<int32_t> number_;                 ///< by step: its number with the Waits
};

}  // namespace

bool AddPagedWaits(const Graph& graph, int64_t bytes, Plan* plan) {
  return Pager(graph, bytes, plan).Run();
}

}  // namespace layrub::placement::schedule
