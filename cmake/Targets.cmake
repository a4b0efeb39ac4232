# Functions that turn folders into targets. Sources are found by pattern, so a new file or folder
# needs no change here.

# layrub_add_library(<name> <folder> [RECURSE|CUDA]): an object library of the folder's .cpp files
# (tests excluded), or nothing while the folder has none, and of those in its folder cuda, or
# no_cuda in a build without a GPU. CUDA: nvcc compiles them, where there is one. Everything it
# defines, registrations included, goes into libcaffe.
function(layrub_add_library name folder)
  if("RECURSE" IN_LIST ARGN)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/test/")
  else()
    if(CPU_ONLY)
      set(variant no_cuda)
    else()
      set(variant cuda)
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp
                                        ${PROJECT_SOURCE_DIR}/${folder}/${variant}/*.cpp)
  endif()
  if(NOT sources)
    return()
  endif()
  set(by_device ${sources})
  list(FILTER by_device INCLUDE REGEX "/(no_)?cuda/")
  set_source_files_properties(${by_device} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # see layrub_add_gpu_library
  if("CUDA" IN_LIST ARGN AND NOT CPU_ONLY)
    set_source_files_properties(${sources} PROPERTIES LANGUAGE CUDA
                                COMPILE_OPTIONS "${layrub_cuda_flags}")
  elseif(name STREQUAL "caffe_kernels")
    # Loops with a condition or a root are vectorized only where nobody looks at flags of exceptions or at errno. No
    # value changes by it. Options of sources come last: -fno-fast-math would take them back.
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-fno-trapping-math;-fno-math-errno")
  endif()
  add_library(${name} OBJECT ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE layrub_flags)
  if(name MATCHES "^(caffe_kernels|layrub_placement|layrub_bounds)$")
    layrub_optimize(${name} -O3)
  endif()
  if(NOT name STREQUAL "caffe_kernels")
    layrub_in_groups(${name})
  endif()
  if(name MATCHES "^layrub_(base|placement|bounds)$")
    target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
  else()
    target_link_libraries(${name} PRIVATE caffe_deps nlohmann_json::nlohmann_json)
    target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/include)
    add_dependencies(${name} caffeproto_sources)
    if(name MATCHES "^caffe_(layers|net|solvers|data)$")
      layrub_precompile(LAYRUB_LIBRARY_HEADERS ${name} caffe/net.hpp)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY LAYRUB_OBJECTS ${name})
endfunction()

# layrub_optimize(<name> <level>): what the default build type gives the target instead of its -O2: loops over elements
# and the planner's search are worth more; tests and commands, which are compiled more often than they run long, less.
function(layrub_optimize name level)
  if(NOT SANITIZE)
    target_compile_options(${name} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:${level}>")
  endif()
endfunction()

# layrub_precompile(<group> <name> <header>...): what most of the target's files include is parsed once. The targets of a
# group are compiled alike and share it: the first one makes it. Not in a build for GPUs, where nvcc takes the time: there
# each file proves that it includes what it needs.
function(layrub_precompile group name)
  if(NOT CPU_ONLY)
    return()
  endif()
  get_property(first GLOBAL PROPERTY ${group})
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY ${group} ${name})
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# layrub_in_groups(<name>): compiles its files in groups, for which their headers and templates are compiled once
# (JUMBO). So names in the unnamed namespaces of a target's files must differ.
function(layrub_in_groups name)
  # Of a class whose members are instantiated in several files clang refuses to see more than one.
  if(JUMBO AND NOT (name MATCHES "^caffe_(net|solvers)$" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
    # GCC takes each file of a group for a header, in which no type should need an unnamed namespace.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# layrub_add_proto(<name> <file>): generates <build>/include/caffe/proto/<file>.pb.h and compiles
# it into an object library.
function(layrub_add_proto name file)
  string(REGEX REPLACE "^src/(.*)\\.proto$" "include/\\1.pb" generated ${file})
  set(generated ${PROJECT_BINARY_DIR}/${generated})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
  add_custom_command(
    OUTPUT ${generated}.cc ${generated}.h
    COMMAND protobuf::protoc -I ${PROJECT_SOURCE_DIR}/src --cpp_out=${PROJECT_BINARY_DIR}/include
            ${PROJECT_SOURCE_DIR}/${file}
    DEPENDS ${PROJECT_SOURCE_DIR}/${file} VERBATIM)
  add_custom_target(${name}_sources DEPENDS ${generated}.cc ${generated}.h)
  add_library(${name} OBJECT ${generated}.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(${name} PRIVATE caffe_deps)
  target_compile_options(${name} PRIVATE ${sanitize_flags} ${hardening_flags} -w)
  layrub_optimize(${name} -O1)
  set_property(GLOBAL APPEND PROPERTY LAYRUB_OBJECTS ${name})
endfunction()

# layrub_add_pure_library(<name> <object library>...): a static library of the parts that depend
# on the standard library alone. Users take all of it (<name>_whole), so registrations stay.
function(layrub_add_pure_library name)
  foreach(part ${ARGN})
    if(TARGET ${part})
      list(APPEND objects $<TARGET_OBJECTS:${part}>)
    endif()
  endforeach()
  if(NOT objects)
    return()
  endif()
  add_library(${name} STATIC ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  add_library(${name}_whole INTERFACE)
  target_link_libraries(${name}_whole INTERFACE
    -Wl,--whole-archive ${name} -Wl,--no-whole-archive layrub_flags nlohmann_json::nlohmann_json
    Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(${name}_whole INTERFACE ${PROJECT_SOURCE_DIR}/include)
endfunction()

# layrub_objects_of(<result> [<part>...]): what all object libraries but these parts compile to.
function(layrub_objects_of result)
  get_property(parts GLOBAL PROPERTY LAYRUB_OBJECTS)
  list(REMOVE_ITEM parts "" ${ARGN})
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  set(${result} ${parts} PARENT_SCOPE)
endfunction()

# What CPU_ONLY makes a difference to, besides kernels and the folders cuda and no_cuda: all else is compiled once, for
# libcaffe with and without GPUs (scripts/check_includes.py).
set(LAYRUB_GPU_SOURCES src/caffe/util/im2col.cpp src/caffe/layers/base_conv_image.cpp)
list(TRANSFORM LAYRUB_GPU_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/)
set_source_files_properties(${LAYRUB_GPU_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# layrub_add_gpu_library(<name> <folder> <kernels>): in a build without GPUs libcaffe once more, in the folder, with the
# backend for GPUs and these objects of kernels. Only what CPU_ONLY makes a difference to is compiled for it. Its
# interface is libcaffe's, so programs of the build run on it when it is preloaded.
function(layrub_add_gpu_library name folder kernels)
  if(NOT TARGET caffe_for_gpus)
    get_target_property(core caffe_core SOURCES)
    add_library(caffe_for_gpus OBJECT ${core} ${LAYRUB_GPU_SOURCES})
    target_compile_options(caffe_for_gpus PRIVATE -UCPU_ONLY)
    target_include_directories(caffe_for_gpus PRIVATE
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/include)
    target_link_libraries(caffe_for_gpus PRIVATE layrub_flags layrub_cuda_headers caffe_deps nlohmann_json::nlohmann_json)
    add_dependencies(caffe_for_gpus caffeproto_sources)
    layrub_in_groups(caffe_for_gpus)
  endif()
  layrub_objects_of(objects caffe_kernels caffe_core)
  list(TRANSFORM objects REPLACE "(.+)" "$<FILTER:\\1,EXCLUDE,/no_cuda/|/im2col.cpp|/base_conv_image.cpp>")
  layrub_add_shared_library(${name} ${objects} $<TARGET_OBJECTS:${kernels}> $<TARGET_OBJECTS:caffe_for_gpus>
    $<TARGET_OBJECTS:layrub_cuda_on_host> ${ARGN})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME caffe LIBRARY_OUTPUT_DIRECTORY ${folder})
endfunction()

# layrub_add_shared_library(<name> [<objects>...]): one shared library, of all object libraries unless objects are named.
function(layrub_add_shared_library name)
  set(objects ${ARGN})
  if(NOT objects)
    layrub_objects_of(objects)
  endif()
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION}
                                           LINKER_LANGUAGE CXX)
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:layrub_flags>
                                PUBLIC $<BUILD_INTERFACE:caffe_deps>)
  if(TARGET TBB::tbb)
    target_link_libraries(${name} PRIVATE TBB::tbb)
  endif()
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  target_compile_features(${name} INTERFACE cxx_std_17)
endfunction()

# layrub_on_fake_cuda: the parts below caffe with the backend for GPUs, compiled as for a machine
# without one, to be linked to definitions of the CUDA runtime's functions that the user brings
# along. Left out where CUDA's headers are missing.
function(layrub_add_fake_cuda)
  find_path(CUDA_HEADERS cuda_runtime.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_PATH /usr/local/cuda
            PATH_SUFFIXES include)
  if(NOT CUDA_HEADERS OR NOT EXISTS ${CUDA_HEADERS}/curand.h)
    message(STATUS "No cuda_runtime.h with curand.h: the tests of src/layrub/device/cuda are left out")
    return()
  endif()
  add_library(layrub_cuda_headers INTERFACE)
  target_include_directories(layrub_cuda_headers SYSTEM INTERFACE ${CUDA_HEADERS})
  layrub_find_nccl(${CUDA_HEADERS})
  find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDA_HEADERS})
  foreach(library NCCL CUDNN)
    if(${library}_INCLUDE_DIR)
      target_include_directories(layrub_cuda_headers SYSTEM INTERFACE ${${library}_INCLUDE_DIR})
      target_compile_definitions(layrub_cuda_headers INTERFACE USE_${library})
    endif()
  endforeach()
  # First what takes the place of the CPU build's parts of the same names, then the rest as needed.
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/layrub/device/cuda/*.cpp)
  add_library(layrub_cuda_on_host OBJECT ${sources})
  target_include_directories(layrub_cuda_on_host PRIVATE ${PROJECT_SOURCE_DIR}/include
                                                         ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(layrub_cuda_on_host PRIVATE layrub_flags layrub_cuda_headers PUBLIC glog::glog Threads::Threads)
  add_library(layrub_below_caffe STATIC $<TARGET_OBJECTS:layrub_device>
                                        $<TARGET_OBJECTS:layrub_runtime>)
  set_target_properties(layrub_below_caffe PROPERTIES LINKER_LANGUAGE CXX)
  add_library(layrub_on_fake_cuda INTERFACE)
  target_sources(layrub_on_fake_cuda INTERFACE $<TARGET_OBJECTS:layrub_cuda_on_host>)
  target_link_libraries(layrub_on_fake_cuda INTERFACE layrub_cuda_headers layrub_below_caffe layrub_pure_whole glog::glog)
endfunction()

# layrub_add_fake_gpu(<result>): libcaffe once more, with the backend for GPUs, on CUDA's runtime and libraries that are
# fakes and with kernels that are launched on the CPU (docs/gpu.md). It lies in the folder fake_gpu, with what it opens.
# <result>: the environment in which a program runs on it; empty where headers of CUDA's are missing.
function(layrub_add_fake_gpu result)
  set(${result} "" PARENT_SCOPE)
  if(NOT TARGET layrub_cuda_on_host)
    return()
  endif()
  find_path(CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${CUDA_HEADERS})
  if(NOT CUBLAS_INCLUDE_DIR OR NOT CUDNN_INCLUDE_DIR)
    message(STATUS "No cublas_v2.h with cudnn.h: the tests on a fake GPU are left out")
    return()
  endif()
  get_target_property(kernels caffe_kernels SOURCES)
  file(GLOB cuda CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caffe/kernels/cuda/*.cpp)
  add_library(caffe_on_fake_gpu OBJECT ${kernels} ${cuda})
  target_compile_definitions(caffe_on_fake_gpu PRIVATE LAYRUB_LAUNCH_ON_HOST)
  target_compile_options(caffe_on_fake_gpu PRIVATE -UCPU_ONLY)
  target_include_directories(caffe_on_fake_gpu PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(caffe_on_fake_gpu PRIVATE layrub_flags layrub_cuda_headers caffe_deps
                                                  nlohmann_json::nlohmann_json)
  layrub_optimize(caffe_on_fake_gpu -O1)
  add_dependencies(caffe_on_fake_gpu caffeproto_sources)

  set(test ${PROJECT_SOURCE_DIR}/src/layrub/device/cuda/test)
  add_library(layrub_fake_gpu OBJECT ${test}/fake_runtime.cpp ${test}/fake_stream_api.cpp ${test}/fake_options.cpp
                                     ${test}/fake_libraries/fake_cublas.cpp)
  set(folder ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/fake_gpu)
  layrub_number_in(cudnn CUDNN_MAJOR ${CUDNN_INCLUDE_DIR}/cudnn.h ${CUDNN_INCLUDE_DIR}/cudnn_version.h)
  layrub_number_in(curand CURAND_VER_MAJOR ${CUDA_HEADERS}/curand.h)
  foreach(name cudnn curand)
    file(GLOB sources CONFIGURE_DEPENDS ${test}/fake_libraries/fake_${name}*.cpp)
    add_library(layrub_fake_${name} SHARED ${sources})
    set_target_properties(layrub_fake_${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${${name}}
                                                         LIBRARY_OUTPUT_DIRECTORY ${folder})
  endforeach()
  foreach(target layrub_fake_gpu layrub_fake_cudnn layrub_fake_curand)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_include_directories(${target} SYSTEM PRIVATE $<TARGET_PROPERTY:caffe_deps,INTERFACE_INCLUDE_DIRECTORIES>)
    target_link_libraries(${target} PRIVATE layrub_flags layrub_cuda_headers)
  endforeach()

  layrub_add_gpu_library(caffe_with_fake_gpu ${folder} caffe_on_fake_gpu $<TARGET_OBJECTS:layrub_fake_gpu>)
  add_dependencies(caffe_with_fake_gpu layrub_fake_cudnn layrub_fake_curand)
  set_target_properties(caffe_with_fake_gpu PROPERTIES
    INSTALL_RPATH "$ORIGIN;$ORIGIN/../../bin/fakes_of_test_nccl_communicator")
  set(preload $<TARGET_FILE:caffe_with_fake_gpu>)
  # GCC's runtime of a sanitizer wants to be the first of all libraries; clang's is in the programs. Either opens those that
  # another library asks for, whose search path does not count then.
  set(address asan)
  set(thread tsan)
  if(SANITIZE)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${${SANITIZE}}.so OUTPUT_VARIABLE runtime
                      OUTPUT_STRIP_TRAILING_WHITESPACE)
      set(preload ${runtime}:${preload})
    endif()
    set(search LD_LIBRARY_PATH=${folder}:${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fakes_of_test_nccl_communicator)
  endif()
  set(${result} LD_PRELOAD=${preload} ${search} PARENT_SCOPE)
endfunction()

# layrub_for_gpus(<program> <source> [<object>...]): the program once more, <program>_for_gpus, where its source mentions
# CPU_ONLY: with the kernels in the .cu file beside it, on libcaffe for GPUs. Part of the target cuda (GPU_CHECK).
function(layrub_for_gpus name source)
  file(STRINGS ${source} mentions REGEX "CPU_ONLY")
  if(NOT GPU_CHECK OR NOT mentions)
    return()
  endif()
  string(REGEX REPLACE "cpp$" "cu" kernels ${source})
  if(NOT EXISTS ${kernels})
    set(kernels)
  endif()
  add_executable(${name}_for_gpus EXCLUDE_FROM_ALL ${source} ${kernels} ${ARGN})
  target_compile_options(${name}_for_gpus PRIVATE -UCPU_ONLY)
  target_compile_options(${name}_for_gpus PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${layrub_cuda_flags}>")
  target_link_libraries(${name}_for_gpus PRIVATE layrub_cuda_headers)
  add_dependencies(cuda ${name}_for_gpus)
endfunction()

# layrub_add_fake_library(<test> <name> <version> <source> [<definition>]): lets the test open a lib<name>.so.<version>
# that is made of a source in src/layrub/device/cuda/test/fake_libraries. It lies in a folder of the test's, beside it wherever
# that is installed, and may use what the test has, such as the fake runtime's streams.
function(layrub_add_fake_library test name version source)
  set(fake layrub_fake_${name})
  add_library(${fake} SHARED ${PROJECT_SOURCE_DIR}/src/layrub/device/cuda/test/fake_libraries/${source})
  target_include_directories(${fake} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${fake} PRIVATE layrub_flags layrub_cuda_headers)
  target_compile_definitions(${fake} PRIVATE ${ARGN})
  set_target_properties(${fake} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version} LIBRARY_OUTPUT_DIRECTORY
                                           ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fakes_of_${test})
  install(TARGETS ${fake} LIBRARY DESTINATION tests/fakes_of_${test} NAMELINK_SKIP COMPONENT tests EXCLUDE_FROM_ALL)
  add_dependencies(${test} ${fake})
  layrub_open_fakes_of(${test} ${test})
endfunction()

# layrub_open_fakes_of(<owner> <test>): lets the test open the fake libraries of the owner.
function(layrub_open_fakes_of owner test)
  set_target_properties(${test} PROPERTIES ENABLE_EXPORTS ON
                                           INSTALL_RPATH "$ORIGIN/fakes_of_${owner};${CMAKE_INSTALL_RPATH}")
endfunction()

# layrub_add_onednn(<folder>): libcaffe_onednn.so beside libcaffe, which opens it when it first wants a kernel of it.
function(layrub_add_onednn folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  add_library(caffe_onednn SHARED ${sources})
  target_include_directories(caffe_onednn PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                                  ${PROJECT_BINARY_DIR}/include)
  target_include_directories(caffe_onednn SYSTEM PRIVATE ${ONEDNN_INCLUDE_DIR})
  # Headers of libcaffe, none of its functions.
  target_include_directories(caffe_onednn SYSTEM PRIVATE $<TARGET_PROPERTY:caffe_deps,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(caffe_onednn PRIVATE $<TARGET_PROPERTY:caffe_deps,INTERFACE_COMPILE_DEFINITIONS>)
  target_link_libraries(caffe_onednn PRIVATE layrub_flags OpenMP::OpenMP_CXX ${ONEDNN_LIBRARY})
  add_dependencies(caffe_onednn caffeproto_sources)
  add_dependencies(caffe caffe_onednn)
  install(TARGETS caffe_onednn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# layrub_add_program(<name> <source>...): a program on top of libcaffe that sees include/ only.
function(layrub_add_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE caffe layrub_flags nlohmann_json::nlohmann_json)
  target_compile_definitions(${name} PRIVATE LAYRUB_VERSION="${PROJECT_VERSION}")
endfunction()

# The files of the page that reports are made of, as a source file of the program layrub.
set(LAYRUB_PAGE_FILES ${PROJECT_BINARY_DIR}/page/page_files.cpp)
function(layrub_embed_page)
  set(folder ${PROJECT_SOURCE_DIR}/tools/layrub/report/page)
  foreach(name page.html page.css page.js pictures.js curves.js layers.js chart.js/chart.min.js chart.js/LICENSE)
    file(READ ${folder}/${name} ${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name})
  endforeach()
  configure_file(${folder}/page_files.cpp.in ${LAYRUB_PAGE_FILES} @ONLY)
endfunction()

# tools/<name>.cpp is the program <name>. What the program layrub does lies in tools/layrub, and is compiled once for it
# and for the programs that host its commands (layrub_commands); only these say for themselves what Fail does.
function(layrub_add_tools)
  file(GLOB mains CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.cpp)
  foreach(main ${mains})
    get_filename_component(name ${main} NAME_WE)
    layrub_add_program(${name} ${main})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
    set_property(GLOBAL APPEND PROPERTY LAYRUB_PROGRAMS ${name})
  endforeach()
  layrub_embed_page()
  set(folder ${PROJECT_SOURCE_DIR}/tools/layrub)
  file(GLOB_RECURSE parts CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(REMOVE_ITEM parts ${folder}/fail.cpp)
  add_library(layrub_commands OBJECT ${parts} ${LAYRUB_PAGE_FILES})
  target_include_directories(layrub_commands PUBLIC ${PROJECT_SOURCE_DIR}/tools)
  target_compile_definitions(layrub_commands PUBLIC LAYRUB_VERSION="${PROJECT_VERSION}")
  target_link_libraries(layrub_commands PUBLIC caffe layrub_flags nlohmann_json::nlohmann_json)
  layrub_in_groups(layrub_commands)
  layrub_optimize(layrub_commands -O1)
  target_sources(layrub PRIVATE ${folder}/fail.cpp $<TARGET_OBJECTS:layrub_commands>)
  add_custom_command(TARGET layrub POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink layrub ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/caffe
    VERBATIM)
endfunction()

# layrub_kernels_beside(<result> <file>): in a build with CUDA, the .cu file beside the .cpp file; else nothing.
function(layrub_kernels_beside result file)
  string(REGEX REPLACE "cpp$" "cu" kernels ${file})
  set(${result} "" PARENT_SCOPE)
  if(NOT CPU_ONLY AND EXISTS ${kernels})
    set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS "${layrub_cuda_flags}")
    set(${result} ${kernels} PARENT_SCOPE)
  endif()
endfunction()

# examples/<folder>/<name>.cpp is the program <name>, in a build with CUDA together with <name>.cu.
function(layrub_add_examples)
  file(GLOB mains CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*/*.cpp)
  foreach(main ${mains})
    get_filename_component(name ${main} NAME_WE)
    layrub_kernels_beside(kernels ${main})
    layrub_add_program(${name} ${main} ${kernels})
    layrub_for_gpus(${name} ${main})
    if(TARGET ${name}_for_gpus)
      target_link_libraries(${name}_for_gpus PRIVATE caffe_with_gpu layrub_flags)
    endif()
    set_property(GLOBAL APPEND PROPERTY LAYRUB_PROGRAMS ${name})
    set_property(GLOBAL APPEND PROPERTY LAYRUB_EXAMPLES ${name})
  endforeach()
endfunction()

# src/**/test/test_<thing>.cpp and tools/test/test_<thing>.cpp are each a test program of that name
# and one ctest entry, in a build with CUDA together with test_<thing>.cu. Other .cpp files of the folder are helpers, linked to each of its tests.
# Tests of base, placement and bounds link to the pure library alone, which proves that those parts need
# nothing else. scripts/test_<thing>.py are ctest entries as well.
#
# Tests of src/layrub/device/cuda link to a runtime of CUDA that is a fake: they need CUDA's headers,
# neither its compiler and libraries nor a GPU.
#
# Tests in src/caffe/test/clients are programs as users of Caffe write them: compiled as C++17, they
# see public headers only.
#
# Tests of core, kernels, layers, nets and solvers run on the CPU, in a build with CUDA once more on a
# GPU (<name>_cuda, label gpu), where they are skipped if there is none. All of core, kernels and layers, and those in
# LAYRUB_DEVICE_TESTS, run on a fake GPU (<name>_fake_gpu), where there is one, and on the emulated device, whose memory the
# host cannot reach (<name>_emulated; of nets and solvers nightly); those in LAYRUB_DEVICE_TESTS also where a context and
# libraries take some of its memory (<name>_occupied, nightly).
set(LAYRUB_DEVICE_TESTS test_fused_layers test_inner_nets test_net_wiring test_planned_blobs test_planned_custom_layers
                        test_planned_net test_planned_training test_planned_user_layers
                        test_planned_workspaces test_parallel_solvers test_sgd_solver
                        test_adaptive_solvers test_losses test_exact_resume test_solver test_solver_memory)
# On the fake GPU, whose kernels are launched, there is more to see.
set(LAYRUB_FAKE_GPU_TESTS ${LAYRUB_DEVICE_TESTS} test_planned_captures test_gradient_sum)
# These run once more under valgrind, where there is one (<name>_valgrind): whether memory that is gone is used.
set(LAYRUB_VALGRIND_FILTER_test_planned_user_layers *MayKeep*)
set(LAYRUB_VALGRIND_FILTER_test_channel_blocks *AreArraysTo*/residual)

# The tiers (docs/testing.md). Of tests in LAYRUB_SAMPLED_TESTS the commit tier runs a sample: what the program chooses where
# LAYRUB_SAMPLE is set, and of that what the filter LAYRUB_SAMPLE_OF_<name> lets through, if there is one.
set(LAYRUB_SAMPLED_TESTS test_net_plans test_planned_training test_planned_types test_executor_plans test_planned_captures
                         test_models_ladders test_models_deep test_bench_placement test_file_faults
                         test_fake_gpu_training test_fake_gpu_failing_calls)
set(LAYRUB_SAMPLE_OF_test_planned_training_fake_gpu *GivesTheBitsOfUnplannedTraining/*)
set(LAYRUB_SAMPLE_OF_test_planned_training_occupied *UnderItsSmallestBudget/lenet_*)
set(LAYRUB_SAMPLE_OF_test_planned_user_layers_fake_gpu */hybrid)
set(LAYRUB_SAMPLE_OF_test_planned_blobs_fake_gpu EveryStrategy/*/hybrid)
function(layrub_add_tests)
  layrub_add_fake_cuda()
  if(CPU_ONLY)
    layrub_add_fake_gpu(fake_gpu)
  endif()
  if(GPU_CHECK)
    add_subdirectory(${PROJECT_SOURCE_DIR}/src/caffe/kernels/cuda)
    add_dependencies(cuda caffe_with_gpu)
  endif()
  find_program(VALGRIND valgrind)
  add_library(device_environment OBJECT ${PROJECT_SOURCE_DIR}/src/caffe/test/environment/device_environment.cpp)
  layrub_set_up_test(device_environment caffe)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/src/test_*.cpp ${PROJECT_SOURCE_DIR}/tools/test_*.cpp)
  list(FILTER tests INCLUDE REGEX "/test/(clients/)?test_[^/]*\\.cpp$")
  foreach(test ${tests})
    get_filename_component(name ${test} NAME_WE)
    get_filename_component(folder ${test} DIRECTORY)
    if(TARGET ${name})
      message(FATAL_ERROR "${test}: another test is already named ${name}")
    endif()
    if(folder MATCHES "/layrub/device/cuda/test$" AND NOT TARGET layrub_on_fake_cuda)
      continue()
    endif()
    if(name MATCHES "^test_nccl_(communicator|failures)$" AND NOT NCCL_INCLUDE_DIR)
      message(STATUS "No nccl.h: ${name} is left out")
      continue()
    endif()
    file(GLOB helpers CONFIGURE_DEPENDS ${folder}/*.cpp)
    list(FILTER helpers EXCLUDE REGEX "/test_[^/]*\\.cpp$")
    if(folder MATCHES "/src/layrub/(base|placement|bounds)/")
      set(library layrub_pure_whole)
    elseif(folder MATCHES "/layrub/device/cuda/test$")
      set(library layrub_on_fake_cuda)
    else()
      set(library caffe nlohmann_json::nlohmann_json)
    endif()
    layrub_add_helpers("${folder}" "${library}" helper_objects ${helpers})
    if("caffe" IN_LIST library)
      list(APPEND helper_objects $<TARGET_OBJECTS:device_environment>)
    endif()
    layrub_kernels_beside(kernels ${test})
    add_executable(${name} ${test} ${kernels} ${helper_objects})
    layrub_set_up_test(${name} "${library}")
    layrub_for_gpus(${name} ${test} ${helper_objects})
    if(TARGET ${name}_for_gpus)
      layrub_set_up_test(${name}_for_gpus "caffe_with_gpu;nlohmann_json::nlohmann_json")
      if(folder MATCHES "/clients$")
        layrub_make_client(${name}_for_gpus)
      endif()
    endif()
    if(folder MATCHES "/clients$")
      layrub_make_client(${name})
    elseif("caffe" IN_LIST library)
      layrub_precompile(LAYRUB_TEST_HEADERS ${name} gtest/gtest.h caffe/net.hpp)
    else()
      layrub_precompile(LAYRUB_PURE_TEST_HEADERS ${name} gtest/gtest.h rapidcheck.h)
    endif()
    if(name STREQUAL "test_nccl_communicator")
      layrub_add_fake_library(${name} nccl 2 fake_nccl.cpp)
      layrub_add_fake_library(${name} old_nccl 2 fake_nccl.cpp LAYRUB_OLD_NCCL)
    elseif(name STREQUAL "test_nccl_failures")
      layrub_open_fakes_of(test_nccl_communicator ${name})
      add_dependencies(${name} layrub_fake_nccl)
    elseif(name STREQUAL "test_cuda_libraries" AND CUDNN_INCLUDE_DIR)
      layrub_add_fake_library(${name} old_cudnn 1 old_cudnn.cpp)
    elseif(name STREQUAL "test_cuda_memory")
      layrub_add_fake_library(${name} nvidia-ml 1 fake_nvml.cpp)
    endif()
    if(folder MATCHES "/tools/test$")
      get_property(programs GLOBAL PROPERTY LAYRUB_PROGRAMS)
      add_dependencies(${name} ${programs})
    endif()
    # Of what the library logs by the way nobody reads megabytes; a test that looks for it has it logged (info_lines.hpp).
    # Those of programs look for what these log.
    set(quiet GLOG_minloglevel=1)
    if(folder MATCHES "/tools/test$")
      set(quiet)
    endif()
    layrub_register_test(${name} "${quiet}" ${name})
    if(LAYRUB_VALGRIND_FILTER_${name} AND VALGRIND AND NOT SANITIZE)
      layrub_register_test(${name}_valgrind "GTEST_FILTER=${LAYRUB_VALGRIND_FILTER_${name}}"
                           ${VALGRIND} -q --error-exitcode=1
                           --suppressions=${PROJECT_SOURCE_DIR}/scripts/valgrind.supp $<TARGET_FILE:${name}>)
    endif()
    if(folder MATCHES "/src/caffe/(core|kernels|layers|net|solvers)/test$")
      set(everywhere FALSE)
      if(name IN_LIST LAYRUB_DEVICE_TESTS OR folder MATCHES "/(core|kernels|layers)/test$")
        set(everywhere TRUE)
      endif()
      if(NOT CPU_ONLY)
        layrub_register_device_test(${name} cuda commit gpu)
      elseif(name STREQUAL "test_gpu_math_functions" AND fake_gpu)
        # Functions that no build without CUDA declares: the one test that is compiled for a GPU.
        add_executable(${name}_fake_gpu ${test} ${helper_objects})
        layrub_set_up_test(${name}_fake_gpu "caffe_with_fake_gpu")
        target_link_libraries(${name}_fake_gpu PRIVATE layrub_cuda_headers)
        target_compile_definitions(${name}_fake_gpu PRIVATE LAYRUB_LAUNCH_ON_HOST)
        target_compile_options(${name}_fake_gpu PRIVATE -UCPU_ONLY)
        set_target_properties(${name}_fake_gpu PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/fake_gpu")
        layrub_register_test(${name}_fake_gpu "LAYRUB_TEST_DEVICE=cuda;LAYRUB_FAKE_GPU=seed=1" ${name}_fake_gpu)
      elseif(fake_gpu AND (everywhere OR name IN_LIST LAYRUB_FAKE_GPU_TESTS))
        layrub_register_device_test(${name} fake_gpu sampled cpu ${fake_gpu} "LAYRUB_FAKE_GPU=devices=2,seed=1")
      endif()
      if(folder MATCHES "/(core|kernels|layers)/test$")
        layrub_register_device_test(${name} emulated sampled cpu)
      elseif(everywhere)
        layrub_register_device_test(${name} emulated nightly cpu)
      endif()
      if(name STREQUAL "test_planned_training")
        layrub_register_device_test(${name} occupied sampled cpu)
      elseif(name IN_LIST LAYRUB_DEVICE_TESTS)
        layrub_register_device_test(${name} occupied nightly cpu)
      endif()
    endif()
  endforeach()

  find_program(PYTHON3 python3)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/test_*.py)
  list(REMOVE_ITEM scripts ${PROJECT_SOURCE_DIR}/scripts/test_cost.py)  # it tells what tests take
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    if(PYTHON3)
      layrub_register_test(${name} "" ${PYTHON3} ${script})
    endif()
  endforeach()
endfunction()

# layrub_add_entry(<name> <tier> <labels> <environment> <command>...): an entry of ctest with the tier as a label. Programs
# find the folder of the built programs in the environment, LAYRUB_BIN_DIR. Plain ctest runs the tier commit; those of any
# other tier run with ctest -C <tier> -L <tier>. The tier sampled: a sample as <name> in the tier commit, and all of it as
# <name>_nightly in the tier nightly.
function(layrub_add_entry name tier labels environment)
  set(configurations)
  set(seconds 600)
  if(tier STREQUAL "sampled")
    layrub_add_entry(${name}_nightly nightly "${labels}" "${environment}" ${ARGN})
    list(APPEND environment LAYRUB_SAMPLE=1)
    if(LAYRUB_SAMPLE_OF_${name})
      list(APPEND environment "GTEST_FILTER=${LAYRUB_SAMPLE_OF_${name}}")
    endif()
    set(tier commit)
  elseif(NOT tier STREQUAL "commit")
    set(configurations CONFIGURATIONS ${tier})
    set(seconds 3600)
  endif()
  list(APPEND environment LAYRUB_SOURCE_DIR=${PROJECT_SOURCE_DIR} LAYRUB_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
                          PYTHONDONTWRITEBYTECODE=1)
  list(PREPEND labels ${tier})
  add_test(NAME ${name} COMMAND ${ARGN} ${configurations})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${seconds} ENVIRONMENT "${environment}")
endfunction()

# layrub_tier(<result> <name>): the tier of an entry that is registered without one.
function(layrub_tier result name)
  set(tier commit)
  if(name IN_LIST LAYRUB_SAMPLED_TESTS)
    set(tier sampled)
  endif()
  set(${result} ${tier} PARENT_SCOPE)
endfunction()

# layrub_register_test(<name> <environment> <command>...): the entry of a test program. What rapidcheck tries at random is
# always the same here; a test run by itself tries something new each time. Those in LAYRUB_LONG_TESTS have one more
# entry, <name>_long, which tries much more: ctest -C long -L long.
set(LAYRUB_LONG_TESTS test_net_plans test_pack test_pack_compacting test_planned_test_nets
                      test_random_plans test_ready_times test_time_floor)
set(LONG_EXAMPLES 1000 CACHE STRING "What the entries with the label long try of everything random")
function(layrub_register_test name environment)
  layrub_tier(tier ${name})
  set(fixed ${environment} "RC_PARAMS=seed=20181018 max_success=40")
  layrub_add_entry(${name} ${tier} cpu "${fixed}" ${ARGN})
  if(name IN_LIST LAYRUB_LONG_TESTS)
    set(random ${environment} LAYRUB_LONG_TESTS=${LONG_EXAMPLES} RC_PARAMS=max_success=${LONG_EXAMPLES})
    layrub_add_entry(${name}_long long "" "${random}" ${ARGN})
    set_property(TEST ${name}_long PROPERTY TIMEOUT 36000)
  endif()
endfunction()

# layrub_register_device_test(<name> <device> <tier> <label> [<environment>...]): the test <name> once more, on another device.
function(layrub_register_device_test name device tier label)
  set(entry ${name}_${device})
  string(REPLACE fake_gpu cuda device ${device})
  if(NOT fake_gpu AND CPU_ONLY AND device STREQUAL "emulated")
    set(tier sampled)  # it stands in for the fake GPU
  endif()
  set(environment ${ARGN} LAYRUB_TEST_DEVICE=${device} GLOG_minloglevel=1 "RC_PARAMS=seed=20181018 max_success=40")
  layrub_add_entry(${entry} ${tier} ${label} "${environment}" ${name})
  foreach(each ${entry} ${entry}_nightly)
    if(TEST ${each})
      set_property(TEST ${each} PROPERTY SKIP_REGULAR_EXPRESSION "Cannot use a GPU")
    endif()
  endforeach()
endfunction()

# Compiles the helpers of a test folder once; sets <result> to their objects, or to nothing.
function(layrub_add_helpers folder library result)
  set(${result} "" PARENT_SCOPE)
  if(NOT ARGN)
    return()
  endif()
  file(RELATIVE_PATH helper ${PROJECT_SOURCE_DIR}/src ${folder})
  string(MAKE_C_IDENTIFIER helpers_of_${helper} helper)
  if(NOT TARGET ${helper})
    add_library(${helper} OBJECT ${ARGN})
    layrub_set_up_test(${helper} "${library}")
  endif()
  set(${result} $<TARGET_OBJECTS:${helper}> PARENT_SCOPE)
endfunction()

# layrub_make_client(<test>): compiles it as a user of Caffe would compile a program of that style.
function(layrub_make_client name)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17 INCLUDE_DIRECTORIES "")
  target_compile_options(${name} PRIVATE -Wno-sign-compare -Wno-unused-parameter)
endfunction()

function(layrub_set_up_test name library)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE
    LAYRUB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" LAYRUB_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  target_link_libraries(${name} PRIVATE ${library} layrub_flags GTest::gtest_main rapidcheck)
  layrub_optimize(${name} -O1)
  if("caffe" IN_LIST library)
    add_dependencies(${name} caffeproto_sources)
  endif()
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE" AND NOT name MATCHES "_(fake_gpu|for_gpus)$")
    install(TARGETS ${name} RUNTIME DESTINATION tests COMPONENT tests EXCLUDE_FROM_ALL)
  endif()
endfunction()
