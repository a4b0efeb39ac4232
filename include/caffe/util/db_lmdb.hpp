#ifdef USE_LMDB
#ifndef CAFFE_UTIL_DB_LMDB_HPP
#define CAFFE_UTIL_DB_LMDB_HPP

#include <lmdb.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "caffe/util/db.hpp"

namespace caffe {
namespace db {

inline void MDB_CHECK(int mdb_status) {
  CHECK_EQ(mdb_status, MDB_SUCCESS) << mdb_strerror(mdb_status);
}

/// Takes ownership of the read-only transaction and the cursor.
///
/// A file that is damaged, or truncated while it is read, is a fatal error that names the database.
/// If the file is truncated at the very moment of a read, the system sends SIGBUS. With
/// ExitOnFailure (caffe/util/failure.hpp) the program then ends with a sentence that names the
/// database. In a process that uses exceptions for errors the signal remains, because a signal
/// handler cannot throw.
class LMDBCursor : public Cursor {
 public:
  explicit LMDBCursor(MDB_txn* mdb_txn, MDB_cursor* mdb_cursor);
  virtual ~LMDBCursor() {
    mdb_cursor_close(mdb_cursor_);
    mdb_txn_abort(mdb_txn_);
  }
  virtual void SeekToFirst() { Seek(MDB_FIRST); }
  virtual void Next() { Seek(MDB_NEXT); }
  virtual void Seek(const string& to);
  virtual string key() { return Read(mdb_key_); }
  virtual string value() { return Read(mdb_value_); }
  virtual bool valid() { return valid_; }

 private:
  LMDBCursor(MDB_txn* mdb_txn, MDB_cursor* mdb_cursor, int64_t file_size);
  void Seek(MDB_cursor_op op);
  string Read(const MDB_val& bytes) const;

  MDB_txn* mdb_txn_;
  MDB_cursor* mdb_cursor_;
  const int64_t file_size_;  ///< at the creation of the cursor
  MDB_val mdb_key_, mdb_value_;
  bool valid_ = false;
};

/// Keeps the records until Commit, which enlarges the memory map as far as they need.
class LMDBTransaction : public Transaction {
 public:
  explicit LMDBTransaction(MDB_env* mdb_env) : mdb_env_(mdb_env) {}
  virtual void Put(const string& key, const string& value);
  virtual void Commit();

 private:
  int TryCommit();

  MDB_env* mdb_env_;
  std::vector<std::pair<string, string>> records_;

  DISABLE_COPY_AND_ASSIGN(LMDBTransaction);
};

/// All readers of a database share its environment, because LMDB must not open a database twice in
/// a process. Different threads may open and read it at the same time. If another database replaces
/// it on disk, that counts as a different one.
class LMDB : public DB {
 public:
  LMDB() : mdb_env_(NULL) {}
  virtual ~LMDB() { Close(); }
  virtual void Open(const string& source, Mode mode);
  virtual void Close();
  virtual LMDBCursor* NewCursor();
  virtual LMDBTransaction* NewTransaction();

 private:
  MDB_env* mdb_env_;
};

}  // namespace db
}  // namespace caffe

#endif  // CAFFE_UTIL_DB_LMDB_HPP
#endif  // USE_LMDB
