#ifdef USE_LMDB
#include "caffe/util/db_lmdb.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "caffe/util/failure.hpp"
#include "caffe/util/file_id.hpp"
#include "layrub/base/bytes.hpp"

namespace caffe {
namespace db {

namespace {

const char* PathOf(MDB_env* env) {
  const char* path = nullptr;
  mdb_env_get_path(env, &path);
  return path != nullptr ? path : "";
}

// Aborts with the path of the environment if `status` is an error.
void Check(int status, MDB_env* env, const char* action) {
  if (status == MDB_SUCCESS) return;
  LOG(FATAL) << "Cannot " << action << " LMDB " << PathOf(env) << ": " << mdb_strerror(status);
}

// Returns "; 8.0 KiB are left on its disk", or the limit of a file's size, or "" if the space is
// not known. Needed because LMDB reports a full disk like a broken one.
string RoomLeft(const std::filesystem::path& place) {
  rlimit file;
  if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY) {
    return "; a file may have " + layrub::FormatBytes(static_cast<int64_t>(file.rlim_cur)) +
           " at most (ulimit -f)";
  }
  std::error_code unknown;
  const uintmax_t left = std::filesystem::space(place, unknown).available;
  if (unknown) return "";
  return "; " + layrub::FormatBytes(static_cast<int64_t>(left)) + " are left on its disk";
}

// LMDB maps files into memory, and a page that the disk cannot hold would kill the process.
void CheckRoomForEmptyOne(const string& source) {
  constexpr uintmax_t kLeast = 64 << 10;
  const std::filesystem::path disk = std::filesystem::path(source).parent_path() / ".";
  std::error_code unknown;  // if set, `available` is the maximum
  CHECK(std::filesystem::space(disk, unknown).available >= kLeast)
      << "Cannot make LMDB " << source << ": " << strerror(ENOSPC) << RoomLeft(disk);
}

int64_t FileSize(MDB_env* env) {
  mdb_filehandle_t fd;
  struct stat file;
  Check(mdb_env_get_fd(env, &fd), env, "read");
  CHECK_EQ(fstat(fd, &file), 0) << "Cannot read LMDB " << PathOf(env) << ": " << strerror(errno);
  return file.st_size;
}

// LMDB maps the file, so a page beyond its end would kill the process with SIGBUS when it is
// touched.
void CheckComplete(MDB_env* env, const string& source) {
  MDB_envinfo info;
  MDB_stat page;
  Check(mdb_env_info(env, &info), env, "read");
  Check(mdb_env_stat(env, &page), env, "read");
  const int64_t size = FileSize(env);
  CHECK_GT(static_cast<size_t>(size) / page.ms_psize, info.me_last_pgno)
      << "LMDB " << source << " is cut off: it has " << size
      << " bytes where its header promises page " << info.me_last_pgno << " of " << page.ms_psize
      << " bytes. Copy or convert it again.";
}

// LMDB divides by the page size in the file's two headers, and finds the second header by the size
// in the first. Does not report a file that is missing or is no LMDB; LMDB does.
void CheckPageSizes(const string& source) {
  constexpr int64_t kMagicAt = 16, kPageSizeAt = 40;  // offsets in a header page
  constexpr uint32_t kMagic = 0xBEEFC0DE, kLeast = 256, kMost = 1 << 16;
  const string path = source + "/data.mdb";
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe would hang
  if (fd < 0) return;
  struct stat file;
  const bool regular = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
  uint32_t page_size = 0;
  bool possible = true;
  for (int header = 0; header < 2 && possible; ++header) {
    const int64_t begin = header == 0 ? 0 : page_size;
    uint32_t magic = 0;
    const bool there =
        regular && pread(fd, &magic, sizeof(magic), begin + kMagicAt) == sizeof(magic) &&
        pread(fd, &page_size, sizeof(page_size), begin + kPageSizeAt) == sizeof(page_size);
    if (!there || magic != kMagic) break;
    possible = std::has_single_bit(page_size) && page_size >= kLeast && page_size <= kMost;
  }
  close(fd);
  CHECK(regular) << "Cannot open LMDB " << source << ": data.mdb is no regular file";
  CHECK(possible) << "LMDB " << source << " is damaged: its header names pages of " << page_size
                  << " bytes";
}

// LMDB calls this for a damaged page. If it returned, LMDB would abort the process.
void OnDamagedPage(MDB_env* env, const char* assertion) {
  LOG(FATAL) << "LMDB " << PathOf(env) << " is damaged: " << assertion;
}

// Returns LMDB's status. The caller must close *env only on success.
int TryOpen(const string& source, unsigned int flags, MDB_env** env) {
  MDB_CHECK(mdb_env_create(env));
  mdb_env_set_assert(*env, OnDamagedPage);
  int status = mdb_env_open(*env, source.c_str(), flags, 0664);
  if (status == MDB_SUCCESS && (flags & MDB_RDONLY) != 0) {
    // The first reader of a process takes a lock for the process id.
    MDB_txn* txn;
    status = mdb_txn_begin(*env, NULL, MDB_RDONLY, &txn);
    if (status == MDB_SUCCESS) mdb_txn_abort(txn);
  }
  if (status != MDB_SUCCESS) mdb_env_close(*env);
  return status;
}

// Returns why a reader may continue without a lock after it failed to take one; empty if it may
// not.
string WhyNoLock(int status) {
  // In a read-only folder there can be neither a lock file nor a writer.
  if (status == EACCES || status == EROFS) return mdb_strerror(status);
  if (status == EAGAIN)
    return "a process of the same number, in another container, has it open; nobody may write to "
           "it now";
  return "";
}

// Explains why a database cannot be opened, in more detail than the error number.
string WhyNotOpened(const string& source, int status) {
  std::error_code unknown;
  const std::filesystem::path file = source + "/data.mdb";
  if (std::filesystem::exists(source + "/CURRENT", unknown))
    return string(mdb_strerror(status)) + " (it looks like a LevelDB: backend: LEVELDB)";
  if (std::filesystem::is_directory(source, unknown) && !std::filesystem::exists(file, unknown) &&
      !unknown)
    return "the folder has no data.mdb, so it is no LMDB; name the folder of one.";
  if (std::filesystem::is_regular_file(file, unknown) &&
      std::filesystem::file_size(file, unknown) == 0 && !unknown)
    return "data.mdb is empty; copy or convert the database again.";
  return mdb_strerror(status);
}

MDB_env* OpenEnvironment(const string& source, Mode mode) {
  const FailureScope scope(source.c_str());
  CheckPageSizes(source);
  const unsigned int flags = mode == READ ? MDB_RDONLY | MDB_NOTLS : 0;
  MDB_env* env = nullptr;
  int status = TryOpen(source, flags, &env);
  if (const string why = WhyNoLock(status); mode == READ && !why.empty()) {
    LOG(WARNING) << "LMDB " << source << " is read without a lock: " << why;
    status = TryOpen(source, flags | MDB_NOLOCK, &env);
  }
  if (status != MDB_SUCCESS) {
    LOG(FATAL) << (mode == NEW ? "Cannot make LMDB " : "Cannot open LMDB ") << source << ": "
               << (mode == NEW ? mdb_strerror(status) : WhyNotOpened(source, status))
               << (mode == READ ? "" : RoomLeft(source));
  }
  try {
    CheckComplete(env, source);
  } catch (...) {
    mdb_env_close(env);
    throw;
  }
  return env;
}

// The environments that are open for reading, by their files, with the number of readers of each. A
// process must open a database only once: closing one of two environments would release the locks
// of the other.
class Readers {
 public:
  MDB_env* Open(const string& source) {
    const string file = source + "/data.mdb";
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = environments_.find(FileIdOf(file));
    if (found == environments_.end()) {
      MDB_env* const env = OpenEnvironment(source, READ);
      found = environments_.emplace(FileIdOf(file), Environment{env}).first;
    }
    ++found->second.readers;
    return found->second.env;
  }

  // Returns false if `env` is not one of these.
  bool Close(MDB_env* env) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto found = environments_.begin(); found != environments_.end(); ++found) {
      if (found->second.env != env) continue;
      if (--found->second.readers == 0) {
        mdb_env_close(env);
        environments_.erase(found);
      }
      return true;
    }
    return false;
  }

  // Two transactions of an environment must not open its database at the same time.
  std::mutex& mutex() { return mutex_; }

 private:
  struct Environment {
    MDB_env* env = nullptr;
    int readers = 0;
  };
  std::mutex mutex_;
  std::map<FileId, Environment> environments_;
};

Readers& OpenReaders() {
  static Readers& readers = *new Readers;  // for objects that are destroyed late
  return readers;
}

}  // namespace

void LMDB::Open(const string& source, Mode mode) {
  Close();
  if (mode == NEW) CheckRoomForEmptyOne(source);
  if (mode != READ && mkdir(source.c_str(), 0755) != 0 && (mode == NEW || errno != EEXIST)) {
    LOG(FATAL) << "Cannot make LMDB " << source << ": "
               << (errno == EEXIST ? "it exists already; remove it first, or use it as it is."
                                   : strerror(errno));
  }
  mdb_env_ = mode == READ ? OpenReaders().Open(source) : OpenEnvironment(source, mode);
  LOG(INFO) << "Opened lmdb " << source;
}

void LMDB::Close() {
  if (mdb_env_ != NULL && !OpenReaders().Close(mdb_env_)) mdb_env_close(mdb_env_);
  mdb_env_ = NULL;
}

LMDBCursor* LMDB::NewCursor() {
  const FailureScope scope(PathOf(mdb_env_));
  MDB_txn* txn;
  MDB_dbi dbi;
  MDB_cursor* cursor;
  const std::lock_guard<std::mutex> lock(OpenReaders().mutex());
  Check(mdb_txn_begin(mdb_env_, NULL, MDB_RDONLY, &txn), mdb_env_, "read");
  std::unique_ptr<MDB_txn, decltype(&mdb_txn_abort)> ended(txn, mdb_txn_abort);
  Check(mdb_dbi_open(txn, NULL, 0, &dbi), mdb_env_, "read");
  Check(mdb_cursor_open(txn, dbi, &cursor), mdb_env_, "read");
  return new LMDBCursor(ended.release(), cursor);
}

LMDBTransaction* LMDB::NewTransaction() { return new LMDBTransaction(mdb_env_); }

LMDBCursor::LMDBCursor(MDB_txn* mdb_txn, MDB_cursor* mdb_cursor, int64_t file_size)
    : mdb_txn_(mdb_txn), mdb_cursor_(mdb_cursor), file_size_(file_size) {}

LMDBCursor::LMDBCursor(MDB_txn* mdb_txn, MDB_cursor* mdb_cursor)
    : LMDBCursor(mdb_txn, mdb_cursor, FileSize(mdb_txn_env(mdb_txn))) {
  SeekToFirst();
}

void LMDBCursor::Seek(const string& to) {
  // LMDB does not allow longer keys.
  const auto longest = static_cast<size_t>(mdb_env_get_maxkeysize(mdb_txn_env(mdb_txn_)));
  if (to.empty()) return SeekToFirst();
  const string key = to.substr(0, longest);
  mdb_key_ = {key.size(), const_cast<char*>(key.data())};
  Seek(MDB_SET_RANGE);
  if (valid_ && to.size() > longest && Read(mdb_key_) == key) Next();
}

void LMDBCursor::Seek(MDB_cursor_op op) {
  MDB_env* const env = mdb_txn_env(mdb_txn_);
  const FailureScope scope(PathOf(env));
  valid_ = false;
  const int64_t size = FileSize(env);
  CHECK_GE(size, file_size_) << "LMDB " << PathOf(env) << " was cut off while it was read: it has "
                             << size << " bytes, and had " << file_size_;
  const int status = mdb_cursor_get(mdb_cursor_, &mdb_key_, &mdb_value_, op);
  valid_ = status == MDB_SUCCESS;
  if (status != MDB_NOTFOUND) Check(status, env, "read");
}

string LMDBCursor::Read(const MDB_val& bytes) const {
  const FailureScope scope(PathOf(mdb_txn_env(mdb_txn_)));
  CHECK_LE(bytes.mv_size, static_cast<size_t>(file_size_))
      << "LMDB " << PathOf(mdb_txn_env(mdb_txn_)) << " is damaged: a record of " << bytes.mv_size
      << " bytes in a file of " << file_size_;
  return string(static_cast<const char*>(bytes.mv_data), bytes.mv_size);
}

void LMDBTransaction::Put(const string& key, const string& value) {
  // LMDB would refuse the key on commit; here the message can refer to the caller's record.
  CHECK(!key.empty() && key.size() <= static_cast<size_t>(mdb_env_get_maxkeysize(mdb_env_)))
      << "An LMDB key has 1 to " << mdb_env_get_maxkeysize(mdb_env_) << " bytes; this one has "
      << key.size();
  records_.emplace_back(key, value);
}

void LMDBTransaction::Commit() {
  int status = TryCommit();
  while (status == MDB_MAP_FULL) {
    MDB_envinfo info;
    Check(mdb_env_info(mdb_env_, &info), mdb_env_, "write");
    Check(mdb_env_set_mapsize(mdb_env_, info.me_mapsize * 2), mdb_env_, "enlarge");
    status = TryCommit();
  }
  if (status != MDB_SUCCESS) {
    LOG(FATAL) << "Cannot write LMDB " << PathOf(mdb_env_) << ": " << mdb_strerror(status)
               << RoomLeft(PathOf(mdb_env_));
  }
  records_.clear();
}

// Writes all records in one LMDB transaction. MDB_MAP_FULL leaves the database as it was.
int LMDBTransaction::TryCommit() {
  MDB_txn* txn;
  MDB_dbi dbi;
  int status = mdb_txn_begin(mdb_env_, NULL, 0, &txn);
  if (status != MDB_SUCCESS) return status;
  status = mdb_dbi_open(txn, NULL, 0, &dbi);
  for (auto record = records_.begin(); status == MDB_SUCCESS && record != records_.end();
       ++record) {
    MDB_val key = {record->first.size(), record->first.data()};
    MDB_val value = {record->second.size(), record->second.data()};
    status = mdb_put(txn, dbi, &key, &value, 0);
  }
  if (status == MDB_SUCCESS) return mdb_txn_commit(txn);
  mdb_txn_abort(txn);
  return status;
}

}  // namespace db
}  // namespace caffe
#endif  // USE_LMDB
