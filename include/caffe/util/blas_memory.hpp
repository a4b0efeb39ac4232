#ifndef CAFFE_UTIL_BLAS_MEMORY_HPP_
#define CAFFE_UTIL_BLAS_MEMORY_HPP_

namespace caffe {

// OpenBLAS allocates a buffer for each of its threads and for each thread that computes a product
// of matrices. If a limit of the address space (ulimit -v, set by batch systems) leaves no space
// for it, OpenBLAS retries for ever. Its own threads do so from the moment the library is loaded,
// so that not even exit returns. Without such a limit these functions do nothing.

/// For programs, at the start of main. If the buffers of OpenBLAS's threads do not fit, restarts
/// the program with one thread, which needs no buffer before its first product. If
/// OPENBLAS_NUM_THREADS asks for more threads, ends the program with exit code 1 and one sentence
/// instead.
void FitBlasIntoAddressSpace(char** argv);

/// To be called before a product of matrices. Aborts if it is the calling thread's first and there
/// is no space for its buffer.
void CheckRoomForBlas();

}  // namespace caffe

#endif  // CAFFE_UTIL_BLAS_MEMORY_HPP_
