#include "caffe/util/db.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

std::vector<string> Backends() {
  std::vector<string> backends;
#ifdef USE_LMDB
  backends.push_back("lmdb");
#endif
#ifdef USE_LEVELDB
  backends.push_back("leveldb");
#endif
  return backends;
}

class Database : public ::testing::TestWithParam<string> {
 protected:
  Database() {
    MakeTempDir(&folder_);
    source_ = folder_ + "/db";
  }
  ~Database() override { fs::remove_all(folder_); }

  std::unique_ptr<db::DB> Open(db::Mode mode) const {
    std::unique_ptr<db::DB> database(db::GetDB(GetParam()));
    database->Open(source_, mode);
    return database;
  }
  void Fill(db::Mode mode, const std::vector<std::pair<string, string>>& records) const {
    const std::unique_ptr<db::DB> database = Open(mode);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (const auto& record : records) transaction->Put(record.first, record.second);
    transaction->Commit();
  }
  std::vector<std::pair<string, string>> Contents() const {
    std::vector<std::pair<string, string>> records;
    const std::unique_ptr<db::DB> database = Open(db::READ);
    const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
    for (; cursor->valid(); cursor->Next()) records.emplace_back(cursor->key(), cursor->value());
    return records;
  }

  string folder_;
  string source_;
};

typedef std::vector<std::pair<string, string>> Records;

TEST_P(Database, ReturnsRecordsInKeyOrder) {
  const string binary("\0\xff\n", 3);
  Fill(db::NEW, {{"b", "2"}, {"a", binary}, {"c", ""}});
  EXPECT_EQ(Contents(), (Records{{"a", binary}, {"b", "2"}, {"c", ""}}));
}

TEST_P(Database, CursorReturnsToTheFirstRecord) {
  Fill(db::NEW, {{"a", "1"}, {"b", "2"}});
  const std::unique_ptr<db::DB> database = Open(db::READ);
  const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
  cursor->Next();
  cursor->Next();
  EXPECT_FALSE(cursor->valid());
  cursor->SeekToFirst();
  ASSERT_TRUE(cursor->valid());
  EXPECT_EQ(cursor->key(), "a");
}

TEST_P(Database, WriteModeAddsToExistingRecords) {
  Fill(db::NEW, {{"a", "1"}});
  Fill(db::WRITE, {{"b", "2"}, {"a", "3"}});
  EXPECT_EQ(Contents(), (Records{{"a", "3"}, {"b", "2"}}));
}

TEST_P(Database, ContinuesATransactionAfterCommit) {
  {
    const std::unique_ptr<db::DB> database = Open(db::NEW);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    transaction->Put("a", "1");
    transaction->Commit();
    transaction->Put("b", "2");
    transaction->Commit();
    transaction->Put("c", "dropped");
  }
  EXPECT_EQ(Contents(), (Records{{"a", "1"}, {"b", "2"}}));
}

TEST_P(Database, GrowsWithItsRecords) {
  const string megabyte(1 << 20, 'x');
  Records records;
  for (int i = 0; i < 24; ++i) records.emplace_back("key" + std::to_string(100 + i), megabyte);
  Fill(db::NEW, records);
  EXPECT_EQ(Contents().size(), 24u);
}

TEST_P(Database, ReadsADatabaseThatReplacedAnOpenOne) {
  Fill(db::NEW, {{"a", "old"}});
  const std::unique_ptr<db::DB> reader = Open(db::READ);
  const string place = source_;
  for (const string value : {"new", "newer"}) {
    source_ = folder_ + "/" + value;
    Fill(db::NEW, {{"a", value}});
    fs::remove_all(place);
    fs::rename(source_, place);
    source_ = place;
    const std::unique_ptr<db::DB> same = Open(db::READ);
    EXPECT_EQ(Contents(), (std::vector<std::pair<string, string>>{{"a", value}}));
  }
}

TEST_P(Database, CursorOfAnEmptyDatabaseIsInvalid) {
  Fill(db::NEW, {});
  EXPECT_TRUE(Contents().empty());
}

TEST_P(Database, ReportsAMissingDatabase) { EXPECT_ERROR(Open(db::READ), source_); }

TEST_P(Database, NewRefusesAnExistingDatabase) {
  Fill(db::NEW, {{"a", "1"}});
  EXPECT_ERROR(Open(db::NEW), source_ + ": it exists already; remove it first");
  EXPECT_EQ(Contents().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Backends, Database, ::testing::ValuesIn(Backends()));

TEST(GetDbErrors, ReportsAnUnknownBackend) { EXPECT_ERROR(db::GetDB("sqlite"), "sqlite"); }

#ifdef USE_LMDB
class LmdbFolder : public ::testing::Test {
 protected:
  LmdbFolder() {
    MakeTempDir(&folder_);
    source_ = folder_ + "/db";
  }
  ~LmdbFolder() override { fs::remove_all(folder_); }

  void Read() const {
    const std::unique_ptr<db::DB> database(db::GetDB("lmdb"));
    database->Open(source_, db::READ);
    const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
    while (cursor->valid()) cursor->Next();
  }
  void Create(int count = 100) const {
    const std::unique_ptr<db::DB> database(db::GetDB("lmdb"));
    database->Open(source_, db::NEW);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (int i = 0; i < count; ++i) transaction->Put("key" + std::to_string(i), string(3000, 'x'));
    transaction->Commit();
  }

  string folder_;
  string source_;
};

TEST_F(LmdbFolder, ReportsAFileThatIsNoDatabase) {
  fs::create_directory(source_);
  std::ofstream(source_ + "/data.mdb") << string(100000, 'z');
  EXPECT_ERROR(Read(), "Cannot open LMDB " + source_ + ": MDB_INVALID");
}

TEST_F(LmdbFolder, ExplainsAMissingAndAnEmptyFile) {
  fs::create_directory(source_);
  EXPECT_ERROR(Read(), "Cannot open LMDB " + source_ + ": the folder has no data.mdb");
  std::ofstream(source_ + "/data.mdb").flush();
  EXPECT_ERROR(Read(), "Cannot open LMDB " + source_ + ": data.mdb is empty");
}

TEST_F(LmdbFolder, ReportsATruncatedFileInsteadOfABusError) {
  Create();
  const auto size = fs::file_size(source_ + "/data.mdb");
  fs::resize_file(source_ + "/data.mdb", size / 2);
  EXPECT_ERROR(Read(), "LMDB " + source_ + " is cut off");
}

TEST_F(LmdbFolder, ExplainsAnInvalidKey) {
  Create();
  EXPECT_ERROR(
      {
        std::unique_ptr<db::DB> database(db::GetDB(DataParameter::LMDB));
        database->Open(source_, db::WRITE);
        std::unique_ptr<db::Transaction>(database->NewTransaction())->Put(string(600, 'k'), "v");
      },
      "An LMDB key has 1 to 511 bytes; this one has 600");
}

/// Changes every page of the kind that `flags` say.
void ChangePages(const string& file, uint16_t flags,
                 const std::function<void(char* page)>& change) {
  constexpr size_t kPage = 4096, kFlagsAt = 10;
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  string page(kPage, '\0');
  for (size_t at = 2 * kPage; stream.seekg(at).read(page.data(), kPage); at += kPage) {
    uint16_t kind;
    std::memcpy(&kind, page.data() + kFlagsAt, sizeof(kind));
    if (kind != flags) continue;
    change(page.data());
    stream.seekp(at).write(page.data(), kPage);
  }
}

TEST_F(LmdbFolder, ReportsADamagedPage) {
  Create(1000);
  constexpr uint16_t kBranch = 1;
  ChangePages(source_ + "/data.mdb", kBranch, [](char* page) {
    const uint16_t one_key = 18;
    std::memcpy(page + 12, &one_key, sizeof(one_key));
  });
  const ThrowOnError scope;
  try {
    Read();
    FAIL() << "nobody noticed";
  } catch (const Error& error) {
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, "LMDB " + source_ + " is damaged",
                        std::string(error.what()));
  }
}

TEST_F(LmdbFolder, RejectsARecordLargerThanItsFile) {
  Create();
  constexpr uint16_t kLeaf = 2;
  ChangePages(source_ + "/data.mdb", kLeaf, [](char* page) {
    uint16_t first;
    std::memcpy(&first, page + 16, sizeof(first));
    const uint32_t size = 0xFFFFFFF0;
    std::memcpy(page + first, &size, sizeof(size));
  });
  const ThrowOnError scope;
  const std::unique_ptr<db::DB> database(db::GetDB("lmdb"));
  database->Open(source_, db::READ);
  const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
  EXPECT_THROW(cursor->value(), Error);
}

TEST_F(LmdbFolder, RejectsAHeaderWithoutAValidPageSize) {
  Create();
  for (const uint32_t size : {0U, 7U, 3000U, 1U << 31}) {
    std::fstream file(source_ + "/data.mdb", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(40).write(reinterpret_cast<const char*>(&size), sizeof(size));
    file.close();
    const ThrowOnError scope;
    EXPECT_THROW(Read(), Error) << size;
  }
}

TEST_F(LmdbFolder, RejectsAPipeInsteadOfAFile) {
  fs::create_directory(source_);
  ASSERT_EQ(mkfifo((source_ + "/data.mdb").c_str(), 0600), 0);
  const ThrowOnError scope;
  EXPECT_THROW(Read(), Error);
}

TEST_F(LmdbFolder, ReportsAFileTruncatedWhileOpen) {
  Create();
  const std::unique_ptr<db::DB> database(db::GetDB("lmdb"));
  database->Open(source_, db::READ);
  const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
  cursor->Next();
  fs::resize_file(source_ + "/data.mdb", 8192);
  const ThrowOnError scope;
  try {
    cursor->Next();
    FAIL() << "nobody noticed";
  } catch (const Error& error) {
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, "LMDB " + source_ + " was cut off while",
                        std::string(error.what()));
  }
  EXPECT_FALSE(cursor->valid());
}

using LmdbFolderDeathTest = LmdbFolder;

TEST_F(LmdbFolderDeathTest, ReportsARecordTruncatedDuringTheRead) {
  Create();
  EXPECT_EXIT(
      {
        ExitOnFailure(7);
        const std::unique_ptr<db::DB> database(db::GetDB("lmdb"));
        database->Open(source_, db::READ);
        const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
        fs::resize_file(source_ + "/data.mdb", 0);
        cursor->value();
      },
      ::testing::ExitedWithCode(7), source_ + " is damaged: reading it failed");
}

// Processes in two containers may have the same id, and each locks the byte of that id.
TEST_F(LmdbFolder, IsReadWithoutALockIfAnotherProcessHasTheSameId) {
  Create();
  Read();  // makes the lock file
  int locked[2], done[2];
  ASSERT_EQ(pipe(locked) + pipe(done), 0);
  const pid_t reader = getpid();
  const pid_t other = fork();
  if (other == 0) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_start = reader;
    lock.l_len = 1;
    const int fd = open((source_ + "/lock.mdb").c_str(), O_RDWR);
    char byte = fcntl(fd, F_SETLK, &lock) == 0 ? 'y' : 'n';
    if (write(locked[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char byte = '?';
  ASSERT_EQ(read(locked[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const ThrowOnError scope;
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(Read());
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      source_ + " is read without a lock: a process of the same",
                      ::testing::internal::GetCapturedStderr());
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  waitpid(other, nullptr, 0);
  for (const int end : {locked[0], locked[1], done[0], done[1]}) close(end);
}

TEST_F(LmdbFolder, ReadsACompleteFile) {
  Create();
  EXPECT_NO_FATAL_FAILURE(Read());
}

TEST_F(LmdbFolder, CanBeOpenedAndClosedByConcurrentThreads) {
  Create();
  fs::create_directory_symlink(source_, folder_ + "/link");
  std::atomic<int> found = 0;
  const auto read = [&] {
    for (const string name : {"/db", "/link", "/db", "/link", "/db", "/link", "/db", "/link"}) {
      const std::unique_ptr<db::DB> database(db::GetDB("lmdb"));
      database->Open(folder_ + name, db::READ);
      const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
      for (; cursor->valid(); cursor->Next()) ++found;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(read);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 8 * 8 * 100);
}
#endif  // USE_LMDB

#ifdef USE_LEVELDB
TEST(LevelDb, AllowsConcurrentReadersButNoWriter) {
  string folder;
  MakeTempDir(&folder);
  const string source = folder + "/db";
  {
    const std::unique_ptr<db::DB> database(db::GetDB("leveldb"));
    database->Open(source, db::NEW);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (int i = 0; i < 100; ++i) transaction->Put("key" + std::to_string(i), "value");
    transaction->Commit();
  }
  std::atomic<int> found{0};
  const auto read = [&] {
    const std::unique_ptr<db::DB> database(db::GetDB("leveldb"));
    database->Open(folder + "/./db", db::READ);
    const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
    for (; cursor->valid(); cursor->Next()) ++found;
  };
  {
    const std::unique_ptr<db::DB> database(db::GetDB("leveldb"));
    database->Open(source, db::READ);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(read);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(found, 8 * 100);
    const ThrowOnError scope;
    try {
      const std::unique_ptr<db::DB> writer(db::GetDB("leveldb"));
      writer->Open(source, db::WRITE);
      ADD_FAILURE() << "nobody objected";
    } catch (const Error& error) {
      EXPECT_PRED_FORMAT2(::testing::IsSubstring, "one process at a time",
                          std::string(error.what()));
    }
  }
  const std::unique_ptr<db::DB> writer(db::GetDB("leveldb"));
  writer->Open(source, db::WRITE);
  fs::remove_all(folder);
}

TEST(LevelDb, ReportsADamagedBlock) {
  string folder;
  MakeTempDir(&folder);
  const string source = folder + "/db";
  for (int round = 0; round < 2; ++round) {  // when opened again, LevelDB moves its log to a table
    const std::unique_ptr<db::DB> database(db::GetDB("leveldb"));
    database->Open(source, db::WRITE);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (int i = 0; i < 100; ++i) transaction->Put("key" + std::to_string(i), string(3000, 'x'));
    transaction->Commit();
  }
  int tables = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(source)) {
    if (file.path().extension() != ".ldb") continue;
    ++tables;
    std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(20) << "yyyy";
  }
  ASSERT_GT(tables, 0);
  const ThrowOnError scope;
  try {
    const std::unique_ptr<db::DB> database(db::GetDB("leveldb"));
    database->Open(source, db::READ);
    const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
    while (cursor->valid()) cursor->Next();
    ADD_FAILURE() << "nobody noticed";
  } catch (const Error& error) {
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, "LevelDB " + source, std::string(error.what()));
  }
  fs::remove_all(folder);
}
#endif  // USE_LEVELDB

}  // namespace
}  // namespace caffe
