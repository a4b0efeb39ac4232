#include "state_file.hpp"

#include <filesystem>

#include "caffe/util/checksum.hpp"

namespace caffe {

SolverState TakeHead(const SolverState& state) {
  SolverState head;
  if (state.has_iter()) head.set_iter(state.iter());
  if (state.has_learned_net()) head.set_learned_net(state.learned_net());
  if (state.has_current_step()) head.set_current_step(state.current_step());
  if (state.has_resume()) *head.mutable_resume() = state.resume();
  return head;
}

uint32_t HeadCrc32(const SolverState& head) {
  SolverState covered = head;
  if (covered.has_resume()) covered.mutable_resume()->clear_state_crc32();
  const string bytes = covered.SerializeAsString();
  return Crc32(0, bytes.data(), bytes.size());
}

uint32_t HistoryCrc32(const SolverState& state, uint32_t crc) {
  for (const BlobProto& blob : state.history()) {
    crc = blob.double_data_size() > 0
              ? Crc32(crc, blob.double_data().data(), blob.double_data_size() * sizeof(double))
              : Crc32(crc, blob.data().data(), blob.data_size() * sizeof(float));
  }
  return crc;
}

#ifdef USE_HDF5
SolverState LoadHead(hid_t file, const string& state_file) {
  CHECK(hdf5_has(file, "history"))
      << state_file << " holds no solver state: it has no group 'history'.";
  SolverState head;
  head.set_iter(hdf5_load_int(file, "iter"));
  if (hdf5_has(file, "learned_net")) head.set_learned_net(hdf5_load_string(file, "learned_net"));
  head.set_current_step(hdf5_load_int(file, "current_step"));
  if (hdf5_has(file, "resume")) {
    CHECK(head.mutable_resume()->ParseFromString(hdf5_load_bytes(file, "resume")))
        << state_file << " is damaged: its dataset 'resume' cannot be read.";
  }
  return head;
}

uint32_t HistoryCrc32(hid_t history, uint32_t crc) {
  for (int i = 0; i < hdf5_get_num_links(history); ++i)
    crc = hdf5_crc32(history, std::to_string(i), crc);
  return crc;
}
#endif

string StateFault(const string& state_file, const SolverState& head, uint32_t crc32) {
  if (!head.has_iter())
    return state_file + " holds no solver state: it is empty, or no .solverstate.";
  if (head.iter() < 0 || head.current_step() < 0) {
    return state_file + " holds no solver state: it says iteration " + std::to_string(head.iter()) +
           ", step " + std::to_string(head.current_step()) + ".";
  }
  if (head.has_resume() &&
      (!head.resume().has_state_crc32() || head.resume().state_crc32() != crc32))
    return state_file + " is damaged: it does not have the checksum that it was written with.";
  return "";
}

string WeightsFault(const string& state_file, const SolverState& head) {
  if (!head.has_learned_net()) return "";
  const string& weights = head.learned_net();
  if (!head.has_resume()) {
    std::error_code unknown;  // such as that the name is too long
    const std::filesystem::file_status status = std::filesystem::status(weights, unknown);
    if (std::filesystem::is_regular_file(status)) return "";
    return "The weights of " + state_file + " cannot be read: " + weights + " is " +
           (std::filesystem::exists(status) ? "no regular file." : "not there.");
  }
  const layrub::Result<FileChecksum> found = ChecksumOf(weights);
  if (!found.ok())
    return "The weights of " + state_file + " cannot be read: " + found.status().message + ".";
  const ResumeState& resume = head.resume();
  if (found.value().bytes == resume.weights_bytes() &&
      found.value().crc32 == resume.weights_crc32())
    return "";
  return weights + " is not the file that " + state_file + " was written with: " +
         (found.value().bytes == resume.weights_bytes()
              ? "its checksum is another one."
              : "it has " + std::to_string(found.value().bytes) + " bytes instead of " +
                    std::to_string(resume.weights_bytes()) + ".");
}

}  // namespace caffe
