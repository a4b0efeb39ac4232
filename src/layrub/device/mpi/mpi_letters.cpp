#include "mpi_letters.hpp"

#include <cstdio>
#include <iterator>
#include <utility>

#include "layrub/device/ranks.hpp"

namespace layrub {

using Clock = std::chrono::steady_clock;

MpiLetters::MpiLetters(std::function<void(int, Tag, std::string)> received)
    : received_(std::move(received)) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(host, &length);
  hosts_.resize(static_cast<size_t>(size_) * MPI_MAX_PROCESSOR_NAME);
  MPI_Allgather(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts_.data(), MPI_MAX_PROCESSOR_NAME,
                MPI_CHAR, comm_);
  silence_.resize(static_cast<size_t>(size_));
  next_sign_ = Clock::now() + std::chrono::seconds(1);
}

void MpiLetters::Send(std::list<Letter>* letters) {
  sending_.splice(sending_.end(), *letters, letters->begin(), letters->end());
}

bool MpiLetters::Serve() {
  bool any = false;
  for (auto letter = sending_.begin(); letter != sending_.end();) {
    if (letter->request == MPI_REQUEST_NULL) {
      any |= letter->tag != kSignOfLife;
      MPI_Isend(letter->text.data(), static_cast<int>(letter->text.size()), MPI_BYTE, letter->to,
                letter->tag, comm_, &letter->request);
    }
    int done = 0;
    MPI_Test(&letter->request, &done, MPI_STATUS_IGNORE);
    letter = done ? sending_.erase(letter) : std::next(letter);
  }
  while (Receive()) any = true;
  SendSignOfLife();
  return any;
}

bool MpiLetters::Receive() {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, &status);
  if (!there) return false;
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::string text(static_cast<size_t>(bytes), '\0');
  MPI_Recv(text.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm_,
           MPI_STATUS_IGNORE);
  silence_[static_cast<size_t>(status.MPI_SOURCE)] = 0;
  if (status.MPI_TAG == kSignOfLife) return false;
  received_(status.MPI_SOURCE, static_cast<Tag>(status.MPI_TAG), std::move(text));
  return true;
}

// Silence is counted in calls of this function that are a second apart, not by the clock: if all
// processes are stopped and continued together, none of them counts as silent.
void MpiLetters::SendSignOfLife() {
  if (Clock::now() < next_sign_) return;
  next_sign_ = Clock::now() + std::chrono::seconds(1);
  const int first = rank_ == 0 ? 1 : 0, end = rank_ == 0 ? size_ : 1;
  // If rank 0 is silent, rank 1 ends all processes before the others report the same.
  const int most = RankCommunicator::kMaxSilence + (rank_ > 1 ? 1 : 0);
  for (int other = first; other < end; ++other) {
    sending_.push_back({other, kSignOfLife, ""});
    if (++silence_[static_cast<size_t>(other)] > most) AbortBecauseOfSilent(other);
  }
}

void MpiLetters::AbortBecauseOfSilent(int silent) {
  std::fprintf(
      stderr,
      "layrub: solver %d of %d (on %s) has not answered for %d seconds: it was stopped, or "
      "its machine cannot be reached. All solvers end.\n",
      silent, size_, &hosts_[static_cast<size_t>(silent) * MPI_MAX_PROCESSOR_NAME],
      RankCommunicator::kMaxSilence);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace layrub
