#include "layrub/placement/ir/short_list.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace layrub::placement {
namespace {

using List = ShortList<int>;

TEST(ShortList, HoldsAnyNumberOfValues) {
  List list;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(list.size(), static_cast<size_t>(i));
    list.push_back(i);
    EXPECT_EQ(list.front(), 0);
    EXPECT_EQ(list.back(), i);
    for (int k = 0; k <= i; ++k) EXPECT_EQ(list[k], k);
  }
  EXPECT_EQ(std::vector<int>(list.begin(), list.end()).size(), 20u);
  list.clear();
  EXPECT_TRUE(list.empty());
  list.push_back(7);
  EXPECT_EQ(list, List{7});
}

TEST(ShortList, CopiesAndMovesListsOfNoneOneAndMany) {
  for (const List& list : {List{}, List{1}, List{1, 2, 3}}) {
    List copy = list;
    EXPECT_EQ(copy, list);
    copy.push_back(4);
    EXPECT_NE(copy, list);
    EXPECT_EQ(copy.back(), 4);
    const List expected = copy;
    List moved = std::move(copy);
    EXPECT_EQ(moved, expected);
    moved = list;
    EXPECT_EQ(moved, list);
    moved = {};
    EXPECT_TRUE(moved.empty());
  }
}

TEST(ShortList, CanAddOneOfItsOwnElements) {
  List list{5};
  for (int i = 0; i < 5; ++i) list.push_back(list.front());
  EXPECT_EQ(list, (List{5, 5, 5, 5, 5, 5}));
}

}  // namespace
}  // namespace layrub::placement
