// The file of an LMDB.
#ifdef USE_LMDB
#include <filesystem>
#include <memory>

#include "caffe/util/db.hpp"
#include "fuzz/target.hpp"

namespace layrub_fuzz {
namespace {

constexpr int kRecords = 1000;  ///< a damaged database may have a loop

void ReadAll() {
  const std::unique_ptr<caffe::db::DB> database(caffe::db::GetDB("lmdb"));
  database->Open("lmdb", caffe::db::READ);
  const std::unique_ptr<caffe::db::Cursor> cursor(database->NewCursor());
  for (int i = 0; i < kRecords && cursor->valid(); ++i, cursor->Next()) {
    cursor->key();
    cursor->value();
  }
}

void ReadLmdb(const std::string& bytes) {
  std::filesystem::create_directory("lmdb");
  Write("lmdb/data.mdb", bytes);
  ReadInChild(ReadAll);
}

std::string Database(int records) {
  std::filesystem::remove_all("seed");
  {
    const std::unique_ptr<caffe::db::DB> database(caffe::db::GetDB("lmdb"));
    database->Open("seed", caffe::db::NEW);
    const std::unique_ptr<caffe::db::Transaction> transaction(database->NewTransaction());
    for (int i = 0; i < records; ++i)
      transaction->Put("key" + std::to_string(i), std::string(i % 7 == 0 ? 3000 : 100, 'x'));
    transaction->Commit();
  }
  return Contents("seed/data.mdb");
}

std::vector<std::string> LmdbSeeds() { return {Database(0), Database(3), Database(90)}; }

const Registration lmdb({"lmdb", &ReadLmdb, &LmdbSeeds});

}  // namespace
}  // namespace layrub_fuzz
#endif  // USE_LMDB
