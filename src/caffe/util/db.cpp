#include "caffe/util/db.hpp"

#include "caffe/util/db_leveldb.hpp"
#include "caffe/util/db_lmdb.hpp"

namespace caffe {
namespace db {

DB* GetDB(const string& backend) {
#ifdef USE_LEVELDB
  if (backend == "leveldb") return new LevelDB();
#endif
#ifdef USE_LMDB
  if (backend == "lmdb") return new LMDB();
#endif
  LOG(FATAL) << "Unknown database backend \"" << backend << "\", or not part of this build";
  return NULL;
}

DB* GetDB(DataParameter::DB backend) {
  return GetDB(backend == DataParameter::LMDB ? "lmdb" : "leveldb");
}

}  // namespace db
}  // namespace caffe
