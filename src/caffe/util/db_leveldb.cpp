#ifdef USE_LEVELDB
#include "caffe/util/db_leveldb.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "caffe/util/file_id.hpp"

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
  options.paranoid_checks = mode == READ;  // damaged data is an error and is not skipped
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

struct OpenLevelDB {
  std::weak_ptr<leveldb::DB> db;
  string name;  ///< the name that it was opened with
};

/// The databases that are open for reading, identified by their file LOCK.
std::shared_ptr<leveldb::DB> OpenToRead(const string& source) {
  static auto& mutex = *new std::mutex;
  static auto& databases = *new std::map<FileId, OpenLevelDB>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(databases, [](const auto& entry) { return entry.second.db.expired(); });
  const auto found = databases.find(FileIdOf(source + "/LOCK"));
  if (found != databases.end()) {
    if (std::shared_ptr<leveldb::DB> db = found->second.db.lock()) return db;
  }
  // LevelDB identifies open databases by name, so a new database that has replaced an open one at
  // this path needs another name.
  string name = source;
  const auto is_taken = [&](const auto& entry) { return entry.second.name == name; };
  while (std::any_of(databases.begin(), databases.end(), is_taken)) name += "/.";
  std::shared_ptr<leveldb::DB> db = OpenDatabase(name, READ);
  databases[FileIdOf(source + "/LOCK")] = {db, name};
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
