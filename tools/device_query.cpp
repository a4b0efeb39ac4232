// The program device_query, which caffe device_query has replaced.
#include "shared/deprecated.hpp"

int main() { return tools::SayDeprecated("caffe device_query --gpu=..."); }
