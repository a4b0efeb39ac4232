#include "state_file.hpp"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>
#include <sys/stat.h>

#include <boost/algorithm/string/predicate.hpp>
#include <climits>
#include <filesystem>

#include "caffe/util/checksum.hpp"
#include "caffe/util/failure.hpp"

namespace caffe {

SolverState TakeHead(const SolverState& state) {
  SolverState head;
  if (state.has_iter()) head.set_iter(state.iter());
  if (state.has_learned_net()) head.set_learned_net(state.learned_net());
  if (state.has_current_step()) head.set_current_step(state.current_step());
  if (state.has_resume()) *head.mutable_resume() = state.resume();
  if (state.has_has_checksum()) head.set_has_checksum(state.has_checksum());
  return head;
}

uint32_t HeadCrc32(const SolverState& head) {
  SolverState covered = head;
  if (covered.has_resume()) covered.mutable_resume()->clear_state_crc32();
  const string bytes = covered.SerializeAsString();
  return Crc32(0, bytes.data(), bytes.size());
}

namespace {

uint32_t DimsCrc32(const vector<int64_t>& dims, uint32_t crc) {
  return dims.empty() ? crc : Crc32(crc, dims.data(), dims.size() * sizeof(int64_t));
}

}  // namespace

uint32_t ShapeCrc32(const vector<int>& shape, uint32_t crc) {
  return DimsCrc32({shape.begin(), shape.end()}, crc);
}

uint32_t HistoryCrc32(const SolverState& state, uint32_t crc) {
  for (const BlobProto& blob : state.history()) {
    const auto& dims = blob.shape().dim();
    if (state.has_checksum()) crc = DimsCrc32({dims.begin(), dims.end()}, crc);
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
  if (hdf5_has(file, "has_checksum"))
    head.set_has_checksum(hdf5_load_int(file, "has_checksum") != 0);
  return head;
}

uint32_t HistoryCrc32(hid_t history, const SolverState& head, uint32_t crc) {
  for (int i = 0; i < hdf5_get_num_links(history); ++i) {
    const string name = std::to_string(i);
    if (head.has_checksum()) crc = ShapeCrc32(hdf5_shape(history, name), crc);
    crc = hdf5_crc32(history, name, crc);
  }
  return crc;
}
#endif

namespace {

/// Reads the field `resume` of a binary state and skips the other fields.
ResumeState ResumeOf(const string& state_file) {
  using google::protobuf::internal::WireFormatLite;
  ResumeState resume;
  const int fd = open(state_file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return resume;
  google::protobuf::io::FileInputStream file(fd);
  file.SetCloseOnDelete(true);
  google::protobuf::io::CodedInputStream input(&file);
  while (const uint32_t tag = input.ReadTag()) {
    uint32_t bytes = 0;
    if (WireFormatLite::GetTagFieldNumber(tag) != SolverState::kResumeFieldNumber) {
      if (!WireFormatLite::SkipField(&input, tag)) break;
    } else if (!input.ReadVarint32(&bytes) || bytes > INT_MAX) {
      break;
    } else {
      const auto limit = input.PushLimit(static_cast<int>(bytes));
      if (!resume.MergeFromCodedStream(&input)) break;
      input.PopLimit(limit);
    }
  }
  return resume;
}

}  // namespace

int64_t WrittenAt(const string& state_file) {
  ResumeState resume;
  const ThrowOnError scope;
  try {
    if (boost::ends_with(state_file, ".h5")) {
#ifdef USE_HDF5
      const FailureScope at_work{CurrentFile{state_file}}, believed(state_file.c_str());
      const Hdf5Handle file(hdf5_open_file(state_file), H5Fclose, state_file);
      resume = LoadHead(file.id(), state_file).resume();
#endif
    } else {
      resume = ResumeOf(state_file);
    }
  } catch (const Error&) {
    // The file is damaged; reading all of it reports the error.
  }
  struct stat file;
  if (resume.has_written()) return resume.written();
  if (stat(state_file.c_str(), &file) != 0) return 0;
  return file.st_mtim.tv_sec * int64_t{1'000'000'000} + file.st_mtim.tv_nsec;
}

string StateFault(const string& state_file, const SolverState& head, uint32_t crc32) {
  if (!head.has_iter())
    return state_file + " holds no solver state: it is empty or not a .solverstate file.";
  if (head.iter() < 0 || head.current_step() < 0) {
    return state_file + " holds no solver state: it says iteration " + std::to_string(head.iter()) +
           ", step " + std::to_string(head.current_step()) + ".";
  }
  if ((head.has_resume() || head.has_checksum()) &&
      (!head.resume().has_state_crc32() || head.resume().state_crc32() != crc32))
    return state_file + " is damaged: it does not have the checksum that it was written with.";
  return "";
}

string WeightsFault(const string& state_file, const SolverState& head) {
  if (!head.has_learned_net()) return "";
  const string& weights = head.learned_net();
  if (!head.has_resume()) {
    std::error_code unknown;  // for example, the name is too long
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
