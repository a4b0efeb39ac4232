// The program test_net, which caffe test has replaced.
#include "shared/deprecated.hpp"

int main() { return tools::SayDeprecated("caffe test --model=... --weights=..."); }
