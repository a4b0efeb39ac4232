#include "layrub/partition/layout.hpp"

#include <algorithm>
#include <utility>

namespace layrub {
namespace {

/// The bit of device `rank` on `level`: 0 in the first half.
int Half(const Layout& layout, size_t level, int rank) {
  return (rank >> (layout.levels.size() - 1 - level)) & 1;
}

std::vector<int64_t> Joined(const Layout& layout, int dim) {
  const auto d = static_cast<size_t>(dim);
  if (d < layout.joined.size() && !layout.joined[d].empty()) return layout.joined[d];
  return {layout.dims[d]};
}

/// Returns the runs of indices along one dimension that both have.
std::vector<Run> Intersection(const std::vector<Range>& from, const std::vector<Range>& to) {
  std::vector<Run> runs;
  int64_t from_index = 0, to_index = 0;
  for (size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    const int64_t begin = std::max(from[i].begin, to[j].begin);
    const int64_t end = std::min(from[i].end, to[j].end);
    if (begin < end) {
      runs.push_back(
          {from_index + begin - from[i].begin, to_index + begin - to[j].begin, end - begin});
    }
    if (from[i].end < to[j].end) {
      from_index += from[i].end - from[i].begin;
      ++i;
    } else {
      to_index += to[j].end - to[j].begin;
      ++j;
    }
  }
  return runs;
}

/// Whether, on one level, the device in half `to_half` takes what it needs from the one in half
/// `from_half`, if that has it.
bool Takes(Level from, Level to, int from_half, int to_half) {
  const bool own = from_half == to_half;
  if (to.share == Share::kPart &&
      (from.share == Share::kWhole || from.share == Share::kPartGradient))
    return own && to_half == 0;
  if (to.share == Share::kPart) return own;
  return own || from.share == Share::kCut || from.share == Share::kPart;
}

bool Takes(const Layout& from, const Layout& to, int sender, int receiver) {
  for (size_t level = 0; level < from.levels.size(); ++level) {
    if (!Takes(from.levels[level], to.levels[level], Half(from, level, sender),
               Half(to, level, receiver)))
      return false;
  }
  return true;
}

/// Returns how one more level of devices that have summands best gets parts of the sum: cut along a
/// dimension that no other level cuts, if there is one, which saves exchanges, and along the
/// longest of these.
Level Scatter(const Layout& layout) {
  Level best = Whole();
  std::pair<bool, int64_t> best_rank;
  for (int d = 0; d < static_cast<int>(layout.dims.size()); ++d) {
    const int64_t parts = Parts(layout, d);
    const std::pair<bool, int64_t> rank{parts == 1, layout.dims[d] / parts};
    if (!CanCut(layout, d, 2 * parts) || rank <= best_rank) continue;
    best = Cut(d);
    best_rank = rank;
  }
  return best;
}

}  // namespace

Level OfGradient(Level level) {
  if (level.share == Share::kPart) return PartGradient();
  if (level.share == Share::kPartGradient) return Part();
  return level;
}

Layout Layout::OfGradient() const {
  Layout result = *this;
  for (Level& level : result.levels) level = layrub::OfGradient(level);
  return result;
}

Layout Layout::Summed() const {
  Layout result = *this;
  for (Level& level : result.levels) {
    if (level == Part()) level = Whole();
  }
  return result;
}

int64_t Parts(const Layout& layout, int dim) {
  int64_t parts = 1;
  for (const Level& level : layout.levels) {
    if (level == Cut(dim)) parts *= 2;
  }
  return parts;
}

bool CanCut(const Layout& layout, int dim, int64_t parts) {
  const std::vector<int64_t> joined = Joined(layout, dim);
  return std::all_of(joined.begin(), joined.end(),
                     [&](int64_t size) { return size > 0 && size % parts == 0; });
}

std::vector<int64_t> LocalDims(const Layout& layout) {
  std::vector<int64_t> dims = layout.dims;
  for (size_t d = 0; d < dims.size(); ++d) dims[d] /= Parts(layout, static_cast<int>(d));
  return dims;
}

std::vector<Range> RangesOf(const Layout& layout, int dim, int rank) {
  std::vector<Range> ranges;
  int64_t first = 0;
  for (const int64_t size : Joined(layout, dim)) {
    Range range{first, first + size};
    for (size_t level = 0; level < layout.levels.size(); ++level) {
      if (layout.levels[level] != Cut(dim)) continue;
      const int64_t middle = range.begin + (range.end - range.begin) / 2;
      (Half(layout, level, rank) == 0 ? range.end : range.begin) = middle;
    }
    if (!ranges.empty() && ranges.back().end == range.begin) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
    first += size;
  }
  return ranges;
}

int64_t Count(const Transfer& transfer) {
  int64_t count = 1;
  for (const std::vector<Run>& runs : transfer.runs) {
    int64_t along = 0;
    for (const Run& run : runs) along += run.count;
    count *= along;
  }
  return count;
}

std::vector<Transfer> Transfers(const Layout& from, const Layout& to) {
  std::vector<Transfer> transfers;
  for (int receiver = 0; receiver < to.devices(); ++receiver) {
    for (int sender = 0; sender < from.devices(); ++sender) {
      if (!Takes(from, to, sender, receiver)) continue;
      Transfer transfer{sender, receiver, {}};
      for (int d = 0; d < static_cast<int>(from.dims.size()); ++d) {
        transfer.runs.push_back(Intersection(RangesOf(from, d, sender), RangesOf(to, d, receiver)));
        if (transfer.runs.back().empty()) break;
      }
      if (transfer.runs.empty() || !transfer.runs.back().empty())
        transfers.push_back(std::move(transfer));
    }
  }
  return transfers;
}

std::vector<Layout> Stages(const Layout& from, const Layout& to) {
  Layout scattered = from;
  bool differs = false;
  for (size_t level = 0; level < from.levels.size(); ++level) {
    const Share share = to.levels[level].share;
    if (from.levels[level].share != Share::kPart || share == Share::kPart) continue;
    if (share == Share::kCut &&
        CanCut(scattered, to.levels[level].dim, 2 * Parts(scattered, to.levels[level].dim))) {
      scattered.levels[level] = to.levels[level];
      differs = true;
      continue;
    }
    scattered.levels[level] = Scatter(scattered);
    differs = true;
  }
  std::vector<Layout> stages{from};
  if (differs && scattered != to) stages.push_back(std::move(scattered));
  stages.push_back(to);
  return stages;
}

int64_t MaxReceived(const Layout& from, const Layout& to) {
  std::vector<int64_t> received(static_cast<size_t>(to.devices()));
  const std::vector<Layout> stages = Stages(from, to);
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    for (const Transfer& transfer : Transfers(stages[i], stages[i + 1])) {
      if (transfer.from != transfer.to) received[transfer.to] += Count(transfer);
    }
  }
  return *std::max_element(received.begin(), received.end());
}

}  // namespace layrub
