// The program train_net, which caffe train has replaced.
#include "shared/deprecated.hpp"

int main() { return tools::SayDeprecated("caffe train --solver=... [--snapshot=...]"); }
