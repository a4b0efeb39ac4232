// A cuDNN from before there was anything that is called but its version.
#include <cudnn.h>

extern "C" size_t cudnnGetVersion() { return 6021; }
