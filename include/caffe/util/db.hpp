#ifndef CAFFE_UTIL_DB_HPP
#define CAFFE_UTIL_DB_HPP

#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {
namespace db {

/// READ: opens an existing database. WRITE: opens or creates. NEW: creates; must not exist.
enum Mode { READ, WRITE, NEW };

/// A position among the records of a database, ordered by the bytes of the key. key() and value()
/// need valid().
class Cursor {
 public:
  Cursor() {}
  virtual ~Cursor() {}
  virtual void SeekToFirst() = 0;
  virtual void Next() = 0;
  /// Moves to the record with this key, or to the first after it. Not valid() if there is none.
  virtual void Seek(const string& to) {
    for (SeekToFirst(); valid() && key() < to;) Next();
  }
  virtual string key() = 0;
  virtual string value() = 0;
  virtual bool valid() = 0;

  DISABLE_COPY_AND_ASSIGN(Cursor);
};

/// Records that are written together by Commit, or not at all.
class Transaction {
 public:
  Transaction() {}
  virtual ~Transaction() {}
  virtual void Put(const string& key, const string& value) = 0;
  virtual void Commit() = 0;

  DISABLE_COPY_AND_ASSIGN(Transaction);
};

/// A key-value database on disk. All errors abort with a message that names the database. Cursors
/// and transactions belong to the caller and must be deleted before the database.
class DB {
 public:
  DB() {}
  virtual ~DB() {}
  virtual void Open(const string& source, Mode mode) = 0;
  virtual void Close() = 0;
  virtual Cursor* NewCursor() = 0;
  virtual Transaction* NewTransaction() = 0;

  DISABLE_COPY_AND_ASSIGN(DB);
};

/// Returns a new, closed database of the given kind ("lmdb", "leveldb"), owned by the caller.
/// Aborts if the build does not support it.
DB* GetDB(DataParameter::DB backend);
DB* GetDB(const string& backend);

}  // namespace db
}  // namespace caffe

#endif  // CAFFE_UTIL_DB_HPP
