#ifndef LAYRUB_DEVICE_RANKS_HPP_
#define LAYRUB_DEVICE_RANKS_HPP_

#include <memory>
#include <string>

#include "layrub/device/communicator.hpp"

// Processes that mpirun has started together, on one machine or on several.

namespace layrub {

/// This process's member of a group in which each process is one member. Values go through the
/// memory of the host and are summed in the order of ranks, as in ConnectThreads, so that both give
/// the same bits.
///
/// A process of the group that no longer runs at all, as when it is stopped by a debugger or its
/// machine is lost, ends all others after kMostSilence, with a line on stderr that names it: its
/// thread that exchanges values gives a sign of life every second.
class RankCommunicator : public Communicator {
 public:
  static constexpr int kMostSilence = 7;  ///< seconds

  /// The place of this process among those of the group that run on the same machine, and how many
  /// these are.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// How many of these, this one included, may run on the same cores as this one.
  virtual int sharers() const = 0;
  /// Of the cores of this machine, those on which none of these may run.
  virtual int idle_cores() const = 0;

  /// The member's values are in memory of `device` (null: of the process, as at first). For before
  /// the first values.
  virtual void UseDevice(Device* device) = 0;
};

/// Whether this process is one of several that mpirun (or srun with PMIx) has started, as the
/// environment says.
bool StartedByMpi();
/// Whether it is one of several and another one has rank 0, as the environment says.
bool StartedAsFollower();

/// Joins the group of all processes that were started together, once in a process: every one of
/// them must. MPI is used by a library of its own beside libcaffe, liblayrub_mpi.so, which is
/// opened here. Null where it is not there or cannot be used: then `*why_not` is a sentence.
///
/// At the end of its life it waits until all have come there, unless the group has failed.
std::unique_ptr<RankCommunicator> ConnectRanks(std::string* why_not);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_RANKS_HPP_
