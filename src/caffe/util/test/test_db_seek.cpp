// Finding a position in a database by its key.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "caffe/util/db.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

vector<string> Backends() {
  vector<string> names;
#ifdef USE_LMDB
  names.push_back("lmdb");
#endif
#ifdef USE_LEVELDB
  names.push_back("leveldb");
#endif
  return names;
}

/// Finds records as a cursor of a user's does that knows no better.
class PlainCursor : public db::Cursor {
 public:
  explicit PlainCursor(const vector<string>& keys) : keys_(keys) {}
  void SeekToFirst() override { at_ = 0; }
  void Next() override { ++at_; }
  string key() override { return keys_[at_]; }
  string value() override { return ""; }
  bool valid() override { return at_ < keys_.size(); }

 private:
  const vector<string> keys_;
  size_t at_ = 0;
};

void ExpectSeeks(db::Cursor* cursor) {
  const string high("\xff\x01", 2);
  const vector<std::pair<string, string>> places = {
      // wanted, found
      {"b", "b"}, {"a", "a"},  {high, high},           {"d", "d"}, {"", "a"}, {"aa", "b"},
      {"c", "d"}, {"e", high}, {string(600, 'a'), "b"}};
  for (const auto& [wanted, found] : places) {
    cursor->Seek(wanted);
    ASSERT_TRUE(cursor->valid()) << wanted;
    EXPECT_EQ(cursor->key(), found) << wanted;
  }
  cursor->Seek("b");
  cursor->Next();
  EXPECT_EQ(cursor->key(), "d");
  cursor->Seek("\xff\xff");
  EXPECT_FALSE(cursor->valid());
  cursor->SeekToFirst();
  EXPECT_EQ(cursor->key(), "a");
}

TEST(DbSeek, FindsTheRecordOrTheNext) {
  const string high("\xff\x01", 2);
  for (const string& backend : Backends()) {
    SCOPED_TRACE(backend);
    string folder;
    MakeTempDir(&folder);
    const std::unique_ptr<db::DB> database(db::GetDB(backend));
    database->Open(folder + "/db", db::NEW);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (const string& key : {string("d"), string("a"), high, string("b")})
      transaction->Put(key, "value of " + key);
    transaction->Commit();
    {
      const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
      ExpectSeeks(cursor.get());
      cursor->Seek("d");
      EXPECT_EQ(cursor->value(), "value of d");
    }
    std::filesystem::remove_all(folder);
  }
  PlainCursor plain({"a", "b", "d", high});
  ExpectSeeks(&plain);
}

}  // namespace
}  // namespace caffe
