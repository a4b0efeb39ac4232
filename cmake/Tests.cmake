# Functions that register tests. docs/testing.md describes the tests and the tiers.

find_program(VALGRIND valgrind)
find_program(PYTHON3 python3)

# layrub_tests(...): every test_<thing>.cpp in the folder test, and in the folders test of the folders here, is a program of
# that name and an entry of ctest; in a build with CUDA together with test_<thing>.cu. The other .cpp files beside it are
# helpers, linked to each program of their folder. LAYRUB_SAMPLE_OF_<entry> is a filter of GoogleTest (layrub_entry).
#   LIBRARIES <target>...  what the programs link to; default: libcaffe
#   SAMPLED <test>...      of these the commit tier runs a sample
#   LONG <test>...         these have one more entry, <test>_long, which tries much more of what is random: ctest -C long -L long
#   VALGRIND <test> <filter>...  these run once more under valgrind, where there is one: whether memory that is gone is used
# In a build with CUDA the tests on devices run on a GPU, too (<test>_cuda, label gpu; skipped where there is none). Else:
#   ALL_ON_DEVICES         all run on the fake GPU (<test>_fake_gpu) and on the emulated device, whose memory the host cannot
#                          reach (<test>_emulated)
#   ON_DEVICES <test>...   these run on the fake GPU, and nightly on the emulated device and where a context and libraries
#                          take some of its memory (<test>_occupied)
#   OCCUPIED <test>...     those of ON_DEVICES of which the commit tier runs a sample on the occupied device
#   ON_FAKE_GPU <test>...  these run on the fake GPU besides: there is more to see where kernels are launched
#   ON_GPU                 all run on a GPU in a build with CUDA
function(layrub_tests)
  cmake_parse_arguments(arg "ALL_ON_DEVICES;ON_GPU" "" "LIBRARIES;SAMPLED;LONG;VALGRIND;ON_DEVICES;OCCUPIED;ON_FAKE_GPU" ${ARGN})
  if(NOT BUILD_TESTS)
    return()
  endif()
  if(NOT arg_LIBRARIES)
    set(arg_LIBRARIES caffe nlohmann_json::nlohmann_json)
  endif()
  file(GLOB tests CONFIGURE_DEPENDS test/test_*.cpp */test/test_*.cpp)
  list(FILTER tests EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(cuda|mpi)/")
  foreach(source ${tests})
    get_filename_component(name ${source} NAME_WE)
    layrub_test_program(${name} ${source} ${arg_LIBRARIES})
    set(tier commit)
    if(name IN_LIST arg_SAMPLED)
      set(tier sampled)
    endif()
    # Tests run without the library's INFO lines, which would be megabytes. A test that checks them turns them on
    # (info_lines.hpp).
    layrub_register_test(${name} ${tier} GLOG_minloglevel=1 ${name})
    if(name IN_LIST arg_LONG)
      layrub_register_long_test(${name} GLOG_minloglevel=1)
    endif()
    list(FIND arg_VALGRIND ${name} found)
    if(found GREATER_EQUAL 0 AND VALGRIND AND NOT SANITIZE)
      math(EXPR found "${found} + 1")
      list(GET arg_VALGRIND ${found} filter)
      layrub_register_test(${name}_valgrind commit "GTEST_FILTER=${filter}" ${VALGRIND} -q --error-exitcode=1
                           --suppressions=${PROJECT_SOURCE_DIR}/ci/valgrind.supp $<TARGET_FILE:${name}>)
    endif()
    set(on_devices ${arg_ALL_ON_DEVICES})
    if(name IN_LIST arg_ON_DEVICES)
      set(on_devices TRUE)
    endif()
    if(NOT CPU_ONLY)
      if(arg_ON_GPU OR arg_ALL_ON_DEVICES)
        layrub_register_device_test(${name} cuda commit gpu)
      endif()
    elseif(LAYRUB_FAKE_GPU AND NOT name STREQUAL "test_gpu_math_functions" AND (on_devices OR name IN_LIST arg_ON_FAKE_GPU))
      layrub_register_device_test(${name} fake_gpu sampled cpu ${LAYRUB_FAKE_GPU} "LAYRUB_FAKE_GPU=devices=2,seed=1")
    endif()
    # the emulated device stands in for the fake GPU
    if(arg_ALL_ON_DEVICES OR (on_devices AND CPU_ONLY AND NOT LAYRUB_FAKE_GPU))
      layrub_register_device_test(${name} emulated sampled cpu)
    elseif(on_devices)
      layrub_register_device_test(${name} emulated nightly cpu)
    endif()
    if(name IN_LIST arg_OCCUPIED)
      layrub_register_device_test(${name} occupied sampled cpu)
    elseif(name IN_LIST arg_ON_DEVICES)
      layrub_register_device_test(${name} occupied nightly cpu)
    endif()
  endforeach()
endfunction()

# layrub_test_program(<name> <source> <library>...): the program of a test, whose source is given by its full path, with
# the helpers next to it.
function(layrub_test_program name source)
  if(TARGET ${name})
    message(FATAL_ERROR "${source}: another test is already named ${name}")
  endif()
  get_filename_component(folder ${source} DIRECTORY)
  layrub_helpers(helpers ${folder} ${ARGN})
  if("caffe" IN_LIST ARGN)
    list(APPEND helpers $<TARGET_OBJECTS:device_environment>)
  endif()
  layrub_kernels_beside(kernels ${source})
  add_executable(${name} ${source} ${kernels} ${helpers})
  layrub_set_up_test(${name} ${ARGN})
  if("caffe" IN_LIST ARGN)
    layrub_precompile(LAYRUB_TEST_HEADERS ${name} gtest/gtest.h caffe/net.hpp)
  else()
    layrub_precompile(LAYRUB_PURE_TEST_HEADERS ${name} gtest/gtest.h rapidcheck.h)
  endif()
  layrub_for_gpus(${name} ${source} ${helpers})
  if(TARGET ${name}_for_gpus)
    layrub_set_up_test(${name}_for_gpus caffe_with_gpu nlohmann_json::nlohmann_json)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION tests COMPONENT tests EXCLUDE_FROM_ALL)
endfunction()

# layrub_helpers(<result> <folder> <library>...): the objects of a test folder's .cpp files that are not tests, compiled
# once; nothing if there are none.
function(layrub_helpers result folder)
  set(${result} "" PARENT_SCOPE)
  file(GLOB helpers CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(FILTER helpers EXCLUDE REGEX "/test_[^/]*\\.cpp$")
  if(NOT helpers)
    return()
  endif()
  file(RELATIVE_PATH target ${PROJECT_SOURCE_DIR}/src ${folder})
  string(MAKE_C_IDENTIFIER helpers_of_${target} target)
  if(NOT TARGET ${target})
    add_library(${target} OBJECT ${helpers})
    layrub_set_up_test(${target} ${ARGN})
  endif()
  set(${result} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()

# layrub_set_up_test(<target> <library>...)
function(layrub_set_up_test target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${target} PRIVATE
    LAYRUB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" LAYRUB_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  target_link_libraries(${target} PRIVATE ${ARGN} layrub_flags GTest::gtest_main rapidcheck)
  layrub_optimize(${target} -O1)
  if("caffe" IN_LIST ARGN)
    add_dependencies(${target} caffeproto_sources)
  endif()
endfunction()

# layrub_entry(<name> <tier> <labels> <environment> <command>...): an entry of ctest with the tier as a label. The
# environment variable LAYRUB_BIN_DIR names the folder of the built programs. Plain ctest runs the tier commit; entries
# of another tier run with ctest -C <tier> -L <tier>. The tier sampled adds two entries: a sample, <name>, in the tier
# commit, and all tests, <name>_nightly, in the tier nightly. For the sample, the program runs with LAYRUB_SAMPLE set,
# and with the filter LAYRUB_SAMPLE_OF_<name> if there is one.
function(layrub_entry name tier labels environment)
  set(configurations)
  set(seconds 600)
  if(tier STREQUAL "sampled")
    layrub_entry(${name}_nightly nightly "${labels}" "${environment}" ${ARGN})
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
  add_test(NAME ${name} COMMAND ${ARGN} ${configurations} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${seconds} ENVIRONMENT "${environment}")
endfunction()

# layrub_register_test(<name> <tier> <environment> <command>...): the entry of a test program. In ctest, rapidcheck
# always tries the same random examples; a test program that is run directly tries new ones each time.
function(layrub_register_test name tier environment)
  list(APPEND environment "RC_PARAMS=seed=20181018 max_success=40")
  layrub_entry(${name} ${tier} cpu "${environment}" ${ARGN})
endfunction()

# layrub_register_long_test(<program> <environment>): an entry that tries LONG_EXAMPLES random examples.
set(LONG_EXAMPLES 1000 CACHE STRING "What the entries with the label long try of everything random")
function(layrub_register_long_test program environment)
  list(APPEND environment LAYRUB_LONG_TESTS=${LONG_EXAMPLES} RC_PARAMS=max_success=${LONG_EXAMPLES})
  layrub_entry(${program}_long long "" "${environment}" ${program})
  set_property(TEST ${program}_long PROPERTY TIMEOUT 36000)
endfunction()

# layrub_register_device_test(<program> <device> <tier> <label> [<environment>...]): an entry that runs the program on
# another device.
function(layrub_register_device_test program device tier label)
  set(entry ${program}_${device})
  string(REPLACE fake_gpu cuda device ${device})
  set(environment ${ARGN} LAYRUB_TEST_DEVICE=${device} GLOG_minloglevel=1 "RC_PARAMS=seed=20181018 max_success=40")
  layrub_entry(${entry} ${tier} ${label} "${environment}" ${program})
  foreach(each ${entry} ${entry}_nightly)
    if(TEST ${each})
      set_property(TEST ${each} PROPERTY SKIP_REGULAR_EXPRESSION "Cannot use a GPU")
    endif()
  endforeach()
endfunction()

# layrub_python_tests(<folder>...): every test_<thing>.py in these folders is an entry of ctest.
function(layrub_python_tests)
  list(TRANSFORM ARGN APPEND /test_*.py)
  file(GLOB scripts CONFIGURE_DEPENDS ${ARGN})
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    if(PYTHON3 AND BUILD_TESTS)
      layrub_register_test(${name} commit "" ${PYTHON3} ${script})
    endif()
  endforeach()
endfunction()
