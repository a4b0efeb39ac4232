# Options a user may set, and the compile flags that follow from them.

if(EXISTS /proc/driver/nvidia/version OR EXISTS /dev/nvidiactl)
  set(no_gpu_here OFF)
else()
  set(no_gpu_here ON)
endif()

include(CaffeOptions)
option(CPU_ONLY "Build without a GPU backend" ${no_gpu_here})
set(cudnn_here OFF)
if(NOT CPU_ONLY)
  find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include)
  if(CUDNN_INCLUDE_DIR)
    set(cudnn_here ON)
  endif()
endif()
option(USE_CUDNN "Use cuDNN (needs the GPU backend); ON where it is found" ${cudnn_here})
find_path(ONEDNN_INCLUDE_DIR dnnl.hpp)
set(onednn_here OFF)
if(ONEDNN_INCLUDE_DIR)
  set(onednn_here ON)
endif()
option(USE_ONEDNN "Convolutions and products by oneDNN on the CPU; ON where it is found" ${onednn_here})
# Sanitizers do not know how MPI's threads and processes order what they do.
find_package(MPI QUIET COMPONENTS C)
set(mpi_here OFF)
if(MPI_C_FOUND AND NOT SANITIZE)
  set(mpi_here ON)
endif()
option(USE_MPI "Train with the processes that mpirun starts; ON where MPI is found" ${mpi_here})
option(USE_OPENCV "Read and decode images with OpenCV" ON)
option(USE_LMDB "Read and write LMDB" ON)
option(USE_LEVELDB "Read and write LevelDB" ON)
option(USE_HDF5 "Read and write HDF5" ON)
option(USE_TBB "Run CPU kernels on several threads" ON)
option(BUILD_python "Build the Python interface, where Python's headers and pybind11 are" ON)
option(GPU_CHECK "In a build without a GPU backend: the target cuda, which compiles that as well (ci/test_cuda.sh)" OFF)
option(BUILD_TESTS "Build the tests" ON)
option(JUMBO "Compile the library's files in groups: far less time for all of them, more for one" ON)
option(WERROR "Treat compiler warnings as errors" OFF)
set(SANITIZE "" CACHE STRING "Sanitizer: thread, address (with undefined behaviour; by clang also libFuzzer) or none")
set(CUDA_ARCH "" CACHE STRING "CUDA architectures, such as 75;90; all: from 7.5 on; empty: this machine's GPU, else all")
set_property(CACHE SANITIZE PROPERTY STRINGS "" thread address)

if(GPU_CHECK AND NOT (CPU_ONLY AND BUILD_TESTS AND NOT SANITIZE))
  message(FATAL_ERROR "GPU_CHECK needs CPU_ONLY=ON and BUILD_TESTS=ON.")
endif()
if(CPU_ONLY AND USE_CUDNN)
  message(FATAL_ERROR "USE_CUDNN needs CPU_ONLY=OFF.")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported()  # programs, too, whatever the compiler does by itself
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Programs find libraries in the build folder as they do where they are installed. A search path that CMake
# edits when it installs ends in an empty entry until then: the folder in which a program is started.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
if(NOT DEFINED CMAKE_INSTALL_RPATH_USE_LINK_PATH)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # such as that of CUDA
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# Equal bits on every code path: no fast-math, and no contraction of a*b+c that one loop gets and
# another does not.
# Those of the C++ compiler; nvcc has its own (Cuda.cmake).
add_library(layrub_flags INTERFACE)
function(layrub_compile_flags)
  target_compile_options(layrub_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${ARGN}>")
endfunction()
layrub_compile_flags(-Wall -Wextra -fno-fast-math -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of GCC 12 in optimized code, in std::string's operator+ (GCC bug 105651) and in
  # initializer lists; clang, which builds the same code with warnings as errors, knows better.
  layrub_compile_flags(-Wno-restrict -Wno-maybe-uninitialized)
endif()
if(WERROR)
  layrub_compile_flags(-Werror)
endif()

if(SANITIZE STREQUAL "thread")
  # The TBB runtime is not instrumented: its hand-overs would look like races.
  set(USE_TBB OFF)
  set(sanitize_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(SANITIZE STREQUAL "address")
  set(sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(sanitize_flags -fsanitize=fuzzer-no-link ${sanitize_flags})
    add_compile_definitions(__SANITIZE_ADDRESS__)  # as GCC defines it
  endif()
elseif(SANITIZE)
  message(FATAL_ERROR "SANITIZE=${SANITIZE}: must be thread, address or empty")
endif()
if(sanitize_flags)
  layrub_compile_flags(${sanitize_flags})
else()
  # Sanitizers see more than these do. _FORTIFY_SOURCE works in optimized code only.
  set(hardening_flags -fstack-protector-strong -U_FORTIFY_SOURCE $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  layrub_compile_flags(${hardening_flags})
endif()
target_link_options(layrub_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
# DT_RPATH instead of DT_RUNPATH: what an installed program takes from beside it, its libraries take
# there as well.
target_link_options(layrub_flags INTERFACE -Wl,--disable-new-dtags)
target_link_options(layrub_flags INTERFACE ${sanitize_flags})
