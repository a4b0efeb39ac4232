#include "layrub/flags.hpp"

// What each is for is in flag_table.cpp, which gives --help.
#define LAYRUB_HELP "'layrub COMMAND --help' explains it."

DEFINE_string(solver, "", LAYRUB_HELP);
DEFINE_string(model, "", LAYRUB_HELP);
DEFINE_string(weights, "", LAYRUB_HELP);
DEFINE_string(snapshot, "", LAYRUB_HELP);
DEFINE_string(load, "", LAYRUB_HELP);
DEFINE_string(gpu, "", LAYRUB_HELP);
DEFINE_bool(strict_mode, false, LAYRUB_HELP);
DEFINE_int32(cpu_solvers, 1, LAYRUB_HELP);
DEFINE_int32(devices, 1, LAYRUB_HELP);
DEFINE_string(partition, "", LAYRUB_HELP);
DEFINE_string(phase, "", LAYRUB_HELP);
DEFINE_int32(level, 0, LAYRUB_HELP);
DEFINE_string(stage, "", LAYRUB_HELP);
DEFINE_int32(iterations, 50, LAYRUB_HELP);
DEFINE_string(sigint_effect, "stop", LAYRUB_HELP);
DEFINE_string(sighup_effect, "snapshot", LAYRUB_HELP);
DEFINE_string(sigterm_effect, "stop", LAYRUB_HELP);
DEFINE_bool(stop_on_nan, false, LAYRUB_HELP);
DEFINE_string(placement, "", LAYRUB_HELP);
DEFINE_string(device_memory, "", LAYRUB_HELP);
DEFINE_string(host_memory, "", LAYRUB_HELP);
DEFINE_bool(deterministic, false, LAYRUB_HELP);
DEFINE_int32(threads, 0, LAYRUB_HELP);
DEFINE_string(tf32, "conv", LAYRUB_HELP);
DEFINE_string(debug, "", LAYRUB_HELP);
DEFINE_string(machine, "", LAYRUB_HELP);
DEFINE_string(profile, "", LAYRUB_HELP);
DEFINE_string(spill_file, "", LAYRUB_HELP);
DEFINE_string(spill_memory, "", LAYRUB_HELP);
DEFINE_bool(measure_memory, false, LAYRUB_HELP);
DEFINE_int32(verify_placement, 0, LAYRUB_HELP);
DEFINE_string(json_summary, "", LAYRUB_HELP);
DEFINE_string(format, "text", LAYRUB_HELP);
DEFINE_bool(all_layers, false, LAYRUB_HELP);
DEFINE_bool(largest_batch, false, LAYRUB_HELP);
DEFINE_bool(smallest_budget, false, LAYRUB_HELP);
DEFINE_string(dump, "", LAYRUB_HELP);
DEFINE_string(output, "", LAYRUB_HELP);
DEFINE_string(report, "", LAYRUB_HELP);
DEFINE_string(data_shape, "", LAYRUB_HELP);
DEFINE_string(top_shape, "", LAYRUB_HELP);
DEFINE_bool(synthetic, false, LAYRUB_HELP);
DEFINE_int32(batch, 0, LAYRUB_HELP);
DEFINE_int32(max_iter, 0, LAYRUB_HELP);
DEFINE_int32(opset, 17, LAYRUB_HELP);
DEFINE_bool(dynamic_batch, false, LAYRUB_HELP);
DEFINE_bool(fold, false, LAYRUB_HELP);
DEFINE_int32(verify, -1, LAYRUB_HELP);
DEFINE_string(onnx, "", LAYRUB_HELP);
