# ctest reads this file first, in the build folder. Each run of ctest gets its own temporary folder, which is removed
# with everything that tests leave behind, for example because a child process was killed.
set(parent "$ENV{TMPDIR}")
if(NOT parent)
  set(parent /tmp)
endif()
string(RANDOM LENGTH 8 name)
set(folder "${parent}/layrub_tests_${name}")
file(MAKE_DIRECTORY "${folder}")
set(ENV{TMPDIR} "${folder}")
set(CTEST_CUSTOM_POST_TEST "cmake -E rm -rf \"${folder}\"")
