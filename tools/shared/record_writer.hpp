#ifndef TOOLS_SHARED_RECORD_WRITER_HPP_
#define TOOLS_SHARED_RECORD_WRITER_HPP_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/db.hpp"

namespace tools {

/// Writes records into a new database, many at a time. Aborts where it is there already, or cannot
/// be written.
class RecordWriter {
 public:
  /// `told` is called with the number of records that are in the database by then.
  RecordWriter(const std::string& path, const std::string& backend,
               std::function<void(int records)> told)
      : told_(std::move(told)), database_(caffe::db::GetDB(backend)) {
    database_->Open(path, caffe::db::NEW);
    transaction_.reset(database_->NewTransaction());
  }

  void Put(const std::string& key, const caffe::Datum& datum) {
    transaction_->Put(key, datum.SerializeAsString());
    if (++records_ % kTogether == 0) Commit();
  }
  /// Writes what is left.
  void Finish() {
    if (records_ % kTogether != 0) Commit();
  }
  int records() const { return records_; }

 private:
  static constexpr int kTogether = 1000;

  void Commit() {
    transaction_->Commit();
    transaction_.reset(database_->NewTransaction());
    told_(records_);
  }

  const std::function<void(int)> told_;
  const std::unique_ptr<caffe::db::DB> database_;
  std::unique_ptr<caffe::db::Transaction> transaction_;
  int records_ = 0;
};

}  // namespace tools

#endif  // TOOLS_SHARED_RECORD_WRITER_HPP_
