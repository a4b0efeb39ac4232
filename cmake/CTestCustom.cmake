# ctest reads this first, in the build folder. What tests leave behind, be it because a child of theirs had to die, goes
# with the folder that is theirs for this run.
set(parent "$ENV{TMPDIR}")
if(NOT parent)
  set(parent /tmp)
endif()
string(RANDOM LENGTH 8 name)
set(folder "${parent}/layrub_tests_${name}")
file(MAKE_DIRECTORY "${folder}")
set(ENV{TMPDIR} "${folder}")
set(CTEST_CUSTOM_POST_TEST "cmake -E rm -rf \"${folder}\"")
