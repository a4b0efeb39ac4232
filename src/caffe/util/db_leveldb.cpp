#ifdef USE_LEVELDB
#include "caffe/util/db_leveldb.hpp"

#include <filesystem>

namespace caffe {
namespace db {

void LevelDB::Open(const string& source, Mode mode) {
  leveldb::Options options;
  options.block_size = 64 << 10;
  options.write_buffer_size = 256 << 20;
  options.max_open_files = 100;
  options.error_if_exists = mode == NEW;
  options.create_if_missing = mode != READ;
  options.paranoid_checks = mode == READ;  // what is damaged is an error, not left out
  leveldb::DB* db = nullptr;
  std::error_code unknown;
  CHECK(mode != NEW || !std::filesystem::exists(source + "/CURRENT", unknown))
      << "Cannot make LevelDB " << source
      << ": it exists already; remove it first, or use it as it is.";
  const leveldb::Status status = leveldb::DB::Open(options, source, &db);
  CHECK(status.ok()) << "Failed to open LevelDB " << source << ": " << status.ToString()
                     << (std::filesystem::exists(source + "/data.mdb", unknown)
                             ? " (it looks like an LMDB: backend: LMDB)"
                             : "");
  db_.reset(db);
  source_ = source;
  LOG(INFO) << "Opened leveldb " << source;
}

}  // namespace db
}  // namespace caffe
#endif  // USE_LEVELDB
