// The program net_speed_benchmark, which caffe time has replaced.
#include "shared/deprecated.hpp"

int main() { return tools::SayDeprecated("caffe time --model=... [--gpu=...] [--iterations=...]"); }
