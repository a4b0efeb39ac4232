# Functions by which the CMakeLists.txt of a folder turns it into part of libcaffe, or into a program. Sources are found by
# pattern, so a new file needs no change anywhere; run cmake again, which looks for them.

# layrub_library(<name> [PURE] [FLAGS <flag>...]): an object library of all .cpp files below this folder, but those in
# folders test, onednn, mpi, cuda and no_cuda; of the last two it has the one that suits the build. What it defines,
# registrations included, goes into libcaffe. PURE: it needs nothing but the standard library and nlohmann-json.
# FLAGS: further flags of its files, behind all others.
function(layrub_library name)
  cmake_parse_arguments(arg "PURE" "" "FLAGS" ${ARGN})
  layrub_sources(sources)
  if(arg_FLAGS)
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${arg_FLAGS}")
  endif()
  add_library(${name} OBJECT ${sources})
  set_property(GLOBAL APPEND PROPERTY LAYRUB_OBJECTS ${name})
  if(arg_PURE)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE layrub_flags nlohmann_json::nlohmann_json)
  else()
    layrub_see_caffe(${name})
  endif()
endfunction()

# layrub_sources(<result>): the files that layrub_library compiles. Those that depend on the device are in no group
# (layrub_in_groups), since libcaffe for GPUs is linked from all objects but theirs.
function(layrub_sources result)
  set(variant cuda)
  if(CPU_ONLY)
    set(variant no_cuda)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(.+/)?(test|onednn|mpi|cuda|no_cuda)/")
  file(GLOB by_device CONFIGURE_DEPENDS ${variant}/*.cpp)
  set_source_files_properties(${by_device} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${result} ${sources} ${by_device} PARENT_SCOPE)
endfunction()

# layrub_see_caffe(<target>): the target includes all of the project's headers and those of the libraries that it uses.
function(layrub_see_caffe target)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(${target} PRIVATE layrub_flags caffe_deps nlohmann_json::nlohmann_json)
  add_dependencies(${target} caffeproto_sources)
endfunction()

# layrub_optimize(<target> <level>): what the default build type gives the target instead of its -O2: loops over elements
# and the planner's search are worth more; tests and commands, which are compiled more often than they run long, less.
function(layrub_optimize target level)
  if(NOT SANITIZE)
    target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:${level}>")
  endif()
endfunction()

# layrub_precompile(<group> <target> <header>...): what most of the target's files include is parsed once. The targets of a
# group are compiled alike and share it: the first one makes it. Not in a build for GPUs, where nvcc takes the time: there
# each file proves that it includes what it needs.
function(layrub_precompile group target)
  if(NOT CPU_ONLY)
    return()
  endif()
  get_property(first GLOBAL PROPERTY ${group})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY ${group} ${target})
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# layrub_in_groups(<target> [GNU]): compiles its files in groups, for which their headers and templates are compiled once
# (JUMBO). So names in the unnamed namespaces of a target's files must differ. GNU: by GCC alone, since of a class whose
# members are instantiated in several files clang refuses to see more than one.
function(layrub_in_groups target)
  if(JUMBO AND NOT ("GNU" IN_LIST ARGN AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
    # GCC takes each file of a group for a header, in which no type should need an unnamed namespace.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# layrub_static_library(<name> <object library>...): a static library of parts of libcaffe, for tests that prove that these
# need nothing else. <name>_whole links all of it, so registrations stay.
function(layrub_static_library name)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  add_library(${name}_whole INTERFACE)
  target_link_libraries(${name}_whole INTERFACE
    -Wl,--whole-archive ${name} -Wl,--no-whole-archive layrub_flags nlohmann_json::nlohmann_json
    Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(${name}_whole INTERFACE ${PROJECT_SOURCE_DIR}/include)
endfunction()

# layrub_shared_library(<name> [<objects>...]): libcaffe, of all object libraries unless objects are named.
function(layrub_shared_library name)
  set(objects ${ARGN})
  if(NOT objects)
    layrub_objects_but(objects)
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

# layrub_objects_but(<result> [<object library>...]): the objects of libcaffe's parts but these.
function(layrub_objects_but result)
  get_property(parts GLOBAL PROPERTY LAYRUB_OBJECTS)
  list(REMOVE_ITEM parts "" ${ARGN})
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  set(${result} ${parts} PARENT_SCOPE)
endfunction()

# layrub_gpu_library(<name> <folder> <kernels> [<objects>...]): in a build without GPUs libcaffe once more, in the folder, with
# the backend for GPUs and these objects of kernels. Only what CPU_ONLY makes a difference to is compiled for it
# (caffe_for_gpus). Its interface is libcaffe's, so programs of the build run on it when it is preloaded.
function(layrub_gpu_library name folder kernels)
  layrub_objects_but(objects caffe_kernels caffe_core)
  list(TRANSFORM LAYRUB_BY_DEVICE REPLACE "^.*/" "/" OUTPUT_VARIABLE files)
  list(JOIN files "|" files)
  list(TRANSFORM objects REPLACE "(.+)" "$<FILTER:\\1,EXCLUDE,/no_cuda/|${files}>")
  layrub_shared_library(${name} ${objects} $<TARGET_OBJECTS:${kernels}> $<TARGET_OBJECTS:caffe_for_gpus>
    $<TARGET_OBJECTS:layrub_cuda_on_host> ${ARGN})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME caffe LIBRARY_OUTPUT_DIRECTORY ${folder})
endfunction()

# layrub_program(<name> <source>...): a program on top of libcaffe that sees include/ only.
function(layrub_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE caffe layrub_flags nlohmann_json::nlohmann_json)
  target_compile_definitions(${name} PRIVATE LAYRUB_VERSION="${PROJECT_VERSION}")
  set_property(GLOBAL APPEND PROPERTY LAYRUB_PROGRAMS ${name})
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
