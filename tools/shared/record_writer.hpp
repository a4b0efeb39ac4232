#ifndef TOOLS_SHARED_RECORD_WRITER_HPP_
#define TOOLS_SHARED_RECORD_WRITER_HPP_

#include <glog/logging.h>
#include <google/protobuf/message_lite.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "caffe/util/db.hpp"

namespace tools {

/// Removes a folder if the program fails (logs a fatal message) during this object's lifetime,
/// unless Keep was called or the folder existed before.
class RemovedOnFailure : public google::LogSink {
 public:
  explicit RemovedOnFailure(std::string path) : path_(std::move(path)), was_there_(IsThere(path_)) {
    google::AddLogSink(this);
  }
  ~RemovedOnFailure() override { google::RemoveLogSink(this); }
  RemovedOnFailure(const RemovedOnFailure&) = delete;
  RemovedOnFailure& operator=(const RemovedOnFailure&) = delete;

  /// This program has created the folder.
  void Made() { made_ = !was_there_; }
  void Keep() { made_ = false; }

  using google::LogSink::send;
  void send(google::LogSeverity severity, const char*, const char*, int, const std::tm*,
            const char*, size_t) override {
    std::error_code unknown;
    if (severity == google::GLOG_FATAL && made_) std::filesystem::remove_all(path_, unknown);
  }

 private:
  static bool IsThere(const std::string& path) {
    std::error_code unknown;
    return std::filesystem::exists(std::filesystem::symlink_status(path, unknown));
  }

  const std::string path_;
  const bool was_there_;
  std::atomic<bool> made_{false};
};

/// Writes records into a new database, many at a time. Aborts if the database exists or cannot be
/// written. If the program fails before the first records are committed, the database is removed.
class RecordWriter {
 public:
  /// `told` is called after each commit, with the number of records in the database.
  RecordWriter(const std::string& path, const std::string& backend,
               std::function<void(int records)> told)
      : told_(std::move(told)), removed_(path), database_(caffe::db::GetDB(backend)) {
    database_->Open(path, caffe::db::NEW);
    removed_.Made();
    transaction_.reset(database_->NewTransaction());
  }

  void Put(const std::string& key, const google::protobuf::MessageLite& record) {
    transaction_->Put(key, record.SerializeAsString());
    if (++records_ % kTogether == 0) Commit();
  }
  /// Commits the remaining records.
  void Finish() {
    if (records_ % kTogether != 0) Commit();
  }
  int records() const { return records_; }

 private:
  static constexpr int kTogether = 1000;

  void Commit() {
    transaction_->Commit();
    removed_.Keep();
    transaction_.reset(database_->NewTransaction());
    told_(records_);
  }

  const std::function<void(int)> told_;
  RemovedOnFailure removed_;
  const std::unique_ptr<caffe::db::DB> database_;
  std::unique_ptr<caffe::db::Transaction> transaction_;
  int records_ = 0;
};

}  // namespace tools

#endif  // TOOLS_SHARED_RECORD_WRITER_HPP_
