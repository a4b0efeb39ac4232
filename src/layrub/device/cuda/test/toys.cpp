// The executor tests' toy operations and graphs, compiled again: each test folder links its own
// helpers.
#include "layrub/runtime/test/chain.cpp"
#include "layrub/runtime/test/random_graphs.cpp"
#include "layrub/runtime/test/toy.cpp"
