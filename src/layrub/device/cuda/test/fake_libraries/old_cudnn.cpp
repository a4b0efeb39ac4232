// A very old cuDNN: it has none of the functions that are called, except the version.
#include <cudnn.h>

extern "C" size_t cudnnGetVersion() { return 6021; }
