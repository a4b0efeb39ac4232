#!/bin/sh
# Builds with the address and undefined behaviour sanitizers, in a separate folder, and runs tests.
# Usage: ci/test_asan.sh [BUILD_FOLDER] [TEST...]
# Without TESTs: the tests of code that reads untrusted bytes, owns memory, executes plans, or continues after an error,
# and of the programs as users start them. fake_gpu: the tests of kernels, layers and training that run on the fake GPU,
# with a GPU's blocks and threads. all: the whole suite except test_files and long searches of plans; it takes twice as
# long to compile.
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-asan}
[ $# -eq 0 ] || shift

# Not test_files: LLVM's OpenMP, which clang links, crashes with SIGBUS if files are limited to 100 bytes.
scripts='test_bad_input test_snapshots'
programs='caffe layrub convert_digits time_plans upgrade_net_proto_text upgrade_net_proto_binary upgrade_solver_proto_text'
if [ $# -eq 0 ]; then
  # shellcheck disable=SC2086 # two lists
  set -- test_fuzz_inputs test_io test_hdf5_util test_db test_data_layer test_image_data_layer test_source_layers \
    test_outside_layers test_failure test_client_errors test_solver_errors test_lane_errors \
    test_cpu_backend test_pool test_spill_file test_syncedmem test_executor test_plan_text test_golden \
    test_planned_types test_planned_net test_planned_user_layers test_exact_resume test_snapshot \
    test_parallel_solvers test_host_launch test_kernels_in_blocks test_channel_blocks test_conv_onednn \
    test_solver_update test_fused_updates test_cuda_backend test_cuda_failures \
    test_cuda_copies test_stream_calls test_nccl_communicator test_nccl_failures $scripts
fi

"$root/ci/configure_asan.sh" "$build"

export OPENBLAS_NUM_THREADS=1
# strict_string_checks and detect_stack_use_after_return find more errors. abort_on_error=0: death tests see an exit
# whose code is not that of a failing program. allocator_may_return_null=1: failed allocations are reported as without a
# sanitizer. intercept_tls_get_addr=0: otherwise oneDNN, which is opened at run time, would end clang's search for
# leaks.
export ASAN_OPTIONS="detect_leaks=1 strict_string_checks=1 detect_stack_use_after_return=1 abort_on_error=0 \
  exitcode=99 allocator_may_return_null=1 intercept_tls_get_addr=0"
export LSAN_OPTIONS="suppressions=$root/ci/lsan.supp print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1 halt_on_error=1"
run() { (cd "$build" && ctest --output-on-failure --parallel "$(nproc)" --no-tests=error "$@"); }

if [ "$1" = all ]; then
  cmake --build "$build" --parallel "$(nproc)"
  # These take most of the suite's time even without a sanitizer, in code that other tests run as well.
  run --exclude-regex \
    '^test_(files|net_plans|mutation|auto|models_.*|plan_report|bench_placement|gpu_check|address_space|launch|check_includes)$'
  exit
fi
if [ "$1" = fake_gpu ]; then
  # Entries of test programs: <program>_fake_gpu. Scripts that start the program layrub are left out, as they take
  # minutes even without a sanitizer.
  shift
  entries=$(cd "$build" && ctest --show-only | sed -n 's/.*: \(test_.*_fake_gpu\)$/\1/p' | grep -v '^test_gpu_check_')
  [ -n "$entries" ] || { echo 'No fake GPU here: it needs the headers of CUDA, cuBLAS and cuDNN.'; exit 0; }
  programs=caffe_with_fake_gpu
  # shellcheck disable=SC2086 # a list
  set -- $entries
fi
# The tests of this build: those for CUDA need its headers. The target of a script is that of its programs.
known=$(cmake --build "$build" --target help)
targets=$programs
chosen=
for test in "$@"; do
  for target in "$test" "${test%_fake_gpu}"; do
    if echo "$known" | grep -qw "$target"; then targets="$targets $target" && break; fi
  done
  chosen="$chosen|$test"
done
# shellcheck disable=SC2086 # a list
cmake --build "$build" --parallel "$(nproc)" --target $targets
run --tests-regex "^(${chosen#|})\$"
