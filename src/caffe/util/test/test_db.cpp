#include "caffe/util/db.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

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

typedef Database DatabaseDeathTest;
typedef std::vector<std::pair<string, string>> Records;

TEST_P(Database, GivesRecordsBackInOrderOfKey) {
  const string binary("\0\xff\n", 3);
  Fill(db::NEW, {{"b", "2"}, {"a", binary}, {"c", ""}});
  EXPECT_EQ(Contents(), (Records{{"a", binary}, {"b", "2"}, {"c", ""}}));
}

TEST_P(Database, TheCursorReturnsToTheFirstRecord) {
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

TEST_P(Database, WriteModeAddsToWhatIsThere) {
  Fill(db::NEW, {{"a", "1"}});
  Fill(db::WRITE, {{"b", "2"}, {"a", "3"}});
  EXPECT_EQ(Contents(), (Records{{"a", "3"}, {"b", "2"}}));
}

TEST_P(Database, ACommittedTransactionCanGoOn) {
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

TEST_P(Database, AnEmptyDatabaseHasNoValidCursor) {
  Fill(db::NEW, {});
  EXPECT_TRUE(Contents().empty());
}

TEST_P(DatabaseDeathTest, AMissingDatabaseIsNamed) { EXPECT_DEATH(Open(db::READ), source_); }

TEST_P(DatabaseDeathTest, NewRefusesAnExistingDatabase) {
  Fill(db::NEW, {{"a", "1"}});
  EXPECT_DEATH(Open(db::NEW), source_ + ".*exists");
  EXPECT_EQ(Contents().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Backends, Database, ::testing::ValuesIn(Backends()));
INSTANTIATE_TEST_SUITE_P(Backends, DatabaseDeathTest, ::testing::ValuesIn(Backends()));

TEST(GetDbDeathTest, AnUnknownBackendIsNamed) { EXPECT_DEATH(db::GetDB("sqlite"), "sqlite"); }

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
  void Create() const {
    const std::unique_ptr<db::DB> database(db::GetDB("lmdb"));
    database->Open(source_, db::NEW);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (int i = 0; i < 100; ++i) transaction->Put("key" + std::to_string(i), string(3000, 'x'));
    transaction->Commit();
  }

  string folder_;
  string source_;
};
typedef LmdbFolder LmdbFolderDeathTest;

TEST_F(LmdbFolderDeathTest, AFileOfAnotherKindIsNamed) {
  fs::create_directory(source_);
  std::ofstream(source_ + "/data.mdb") << string(100000, 'z');
  EXPECT_DEATH(Read(), "Cannot open LMDB " + source_ + ": MDB_INVALID");
}

TEST_F(LmdbFolderDeathTest, ACutFileIsNamedAndDoesNotKillByBusError) {
  Create();
  const auto size = fs::file_size(source_ + "/data.mdb");
  fs::resize_file(source_ + "/data.mdb", size / 2);
  EXPECT_DEATH(Read(), "LMDB " + source_ + " is cut off");
}

TEST_F(LmdbFolderDeathTest, ARefusedKeyIsExplained) {
  Create();
  EXPECT_DEATH(
      {
        std::unique_ptr<db::DB> database(db::GetDB(DataParameter::LMDB));
        database->Open(source_, db::WRITE);
        database->NewTransaction()->Put(string(600, 'k'), "v");
      },
      "An LMDB key has 1 to 511 bytes; this one has 600");
}

TEST_F(LmdbFolder, AWholeFileIsRead) {
  Create();
  EXPECT_NO_FATAL_FAILURE(Read());
}

TEST_F(LmdbFolder, ThreadsThatOpenAndCloseItAtATimeReadAllOfIt) {
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

}  // namespace
}  // namespace caffe
