#ifdef USE_LEVELDB
#include "caffe/util/db_leveldb.hpp"

#include <filesystem>
#include <map>
#include <mutex>

namespace caffe {
namespace db {
namespace {

string WhyNotOpened(const string& source, const leveldb::Status& status) {
  std::error_code unknown;
  string why = status.ToString();
  if (std::filesystem::exists(source + "/data.mdb", unknown))
    why += " (it looks like an LMDB: backend: LMDB)";
  if (status.IsIOError() && why.find("/LOCK") != string::npos)
    why += " (one process at a time can open a LevelDB; any number can read an LMDB)";
  return why;
}

std::shared_ptr<leveldb::DB> OpenDatabase(const string& source, Mode mode) {
  leveldb::Options options;
  options.block_size = 64 << 10;
  options.write_buffer_size = 256 << 20;
  options.max_open_files = 100;
  options.error_if_exists = mode == NEW;
  options.create_if_missing = mode != READ;
  options.paranoid_checks = mode == READ;  // what is damaged is an error, not left out
  leveldb::DB* db = nullptr;
  std::error_code unknown;
  CHECK(mode != NEW || !(std::filesystem::exists(source + "/CURRENT", unknown) ||
                         std::filesystem::exists(source + "/data.mdb", unknown)))
      << "Cannot make LevelDB " << source
      << ": it exists already; remove it first, or use it as it is.";
  const leveldb::Status status = leveldb::DB::Open(options, source, &db);
  CHECK(status.ok()) << "Failed to open LevelDB " << source << ": " << WhyNotOpened(source, status);
  return std::shared_ptr<leveldb::DB>(db);
}

/// The databases that are open to be read, by path.
std::shared_ptr<leveldb::DB> OpenToRead(const string& source) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<string, std::weak_ptr<leveldb::DB>>;
  std::error_code unknown;
  const string path = std::filesystem::weakly_canonical(source, unknown);
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<leveldb::DB>& open = known[path];
  std::shared_ptr<leveldb::DB> db = open.lock();
  if (!db) open = db = OpenDatabase(source, READ);
  return db;
}

}  // namespace

void LevelDB::Open(const string& source, Mode mode) {
  db_ = mode == READ ? OpenToRead(source) : OpenDatabase(source, mode);
  source_ = source;
  LOG(INFO) << "Opened leveldb " << source;
}

}  // namespace db
}  // namespace caffe
#endif  // USE_LEVELDB
