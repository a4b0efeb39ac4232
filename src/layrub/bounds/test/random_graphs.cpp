// The placement tests' random graphs and programs, compiled once more: each test folder links its
// own helpers.
#include "layrub/placement/test/random_graph.cpp"
#include "layrub/placement/test/random_layers.cpp"
#include "layrub/placement/test/random_program.cpp"
