#ifndef LAYRUB_PLACEMENT_SEARCH_DRAFT_HPP_
#define LAYRUB_PLACEMENT_SEARCH_DRAFT_HPP_

#include <cstddef>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::search {

/// A program that is easily changed, because all else follows from its runs and from which tensors
/// are evicted between which uses: each eviction is as long as possible and is dropped if it can be
/// (AfterUse), and Lower chooses further aliases. A tensor may be evicted after its last use even
/// if it is not marked keep. No tensor is TensorProgram::whole.
struct Draft {
  Program program;
  UseLists uses;  ///< FindUses(graph, program.runs)
};

/// The draft with the runs, evictions and homes of `program`. What leaves in part there, may leave
/// in part here.
Draft MakeDraft(const Graph& graph, Program program);

/// The eviction of `t` whose `end`, its `after` or its `before`, is run `run`; null if there is
/// none.
const Eviction* FindEviction(const Program& program, TensorId t, RunId Eviction::*end, RunId run);

/// Whether the draft may evict `t`: it has bytes that could be given back.
bool MayEvict(const Graph& graph, const Draft& draft, TensorId t);
/// Evicts `t` from its use number `use` until the next one, or to the end.
void Evict(TensorId t, size_t use, Leaves leaves, Draft* draft);
/// Ends the eviction of `t` that begins at run `after`, if there is one: `t` stays.
void Keep(TensorId t, RunId after, Draft* draft);

/// Returns `draft` without the recomputation `run` and without those that become needless. Their
/// outputs then stay where they were before: they stay on the device if they were there, and
/// otherwise come back from the host. If `numbers` is not null, it gets the new number of each run;
/// a removed run gets that of the run before it.
Draft WithoutRun(const Graph& graph, const Draft& draft, RunId run,
                 std::vector<RunId>* numbers = nullptr);

/// Returns `draft` with a recomputation of `op`, which must be possible there, just before run
/// `before`. Its outputs are dropped since their last use. What it reads and is evicted is
/// prefetched for it and evicted again.
Draft WithRun(const Graph& graph, const Draft& draft, RunId before, OpId op);

/// Returns the program in which outputs also lie on inputs where that saves bytes. What leaves in
/// part leaves wholly here.
Program Lower(const Graph& graph, const Draft& draft);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_DRAFT_HPP_
