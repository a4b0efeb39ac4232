#ifdef USE_LEVELDB
#ifndef CAFFE_UTIL_DB_LEVELDB_HPP
#define CAFFE_UTIL_DB_LEVELDB_HPP

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <memory>
#include <string>

#include "caffe/util/db.hpp"

namespace caffe {
namespace db {

/// Takes ownership of the iterator. `source` is the database's name in messages.
class LevelDBCursor : public Cursor {
 public:
  explicit LevelDBCursor(leveldb::Iterator* iter, const string& source = "")
      : iter_(iter), source_(source) {
    SeekToFirst();
  }
  virtual ~LevelDBCursor() {}
  virtual void SeekToFirst() { iter_->SeekToFirst(); }
  virtual void Next() { iter_->Next(); }
  virtual void Seek(const string& to) { iter_->Seek(to); }
  virtual string key() { return iter_->key().ToString(); }
  virtual string value() { return iter_->value().ToString(); }
  /// Aborts at an unreadable record, which LevelDB itself treats like the end.
  virtual bool valid() {
    CHECK(iter_->status().ok()) << "Cannot read LevelDB " << source_ << ": "
                                << iter_->status().ToString();
    return iter_->Valid();
  }

 private:
  std::unique_ptr<leveldb::Iterator> iter_;
  const string source_;
};

class LevelDBTransaction : public Transaction {
 public:
  explicit LevelDBTransaction(leveldb::DB* db) : db_(CHECK_NOTNULL(db)) {}
  virtual void Put(const string& key, const string& value) { batch_.Put(key, value); }
  virtual void Commit() {
    const leveldb::Status status = db_->Write(leveldb::WriteOptions(), &batch_);
    CHECK(status.ok()) << "Cannot write LevelDB: " << status.ToString();
    batch_.Clear();
  }

 private:
  leveldb::DB* db_;
  leveldb::WriteBatch batch_;

  DISABLE_COPY_AND_ASSIGN(LevelDBTransaction);
};

/// A database that is read is opened once per process and shared by all readers, in any thread;
/// LevelDB lets no other process open it meanwhile. If another database replaces it on disk, that
/// counts as a different one.
class LevelDB : public DB {
 public:
  LevelDB() {}
  virtual ~LevelDB() { Close(); }
  virtual void Open(const string& source, Mode mode);
  virtual void Close() { db_.reset(); }
  virtual LevelDBCursor* NewCursor() {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    return new LevelDBCursor(db_->NewIterator(options), source_);
  }
  virtual LevelDBTransaction* NewTransaction() { return new LevelDBTransaction(db_.get()); }

 private:
  std::shared_ptr<leveldb::DB> db_;
  string source_;
};

}  // namespace db
}  // namespace caffe

#endif  // CAFFE_UTIL_DB_LEVELDB_HPP
#endif  // USE_LEVELDB
