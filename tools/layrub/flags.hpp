#ifndef TOOLS_LAYRUB_FLAGS_HPP_
#define TOOLS_LAYRUB_FLAGS_HPP_

#include <gflags/gflags.h>

// All flags of the program.
DECLARE_string(solver);
DECLARE_string(model);
DECLARE_string(weights);
DECLARE_string(snapshot);
DECLARE_string(gpu);
DECLARE_string(load);
DECLARE_bool(strict_mode);
DECLARE_int32(cpu_solvers);
DECLARE_int32(devices);
DECLARE_string(partition);
DECLARE_string(phase);
DECLARE_int32(level);
DECLARE_string(stage);
DECLARE_int32(iterations);
DECLARE_string(sigint_effect);
DECLARE_string(sighup_effect);
DECLARE_string(sigterm_effect);
DECLARE_bool(stop_on_nan);
DECLARE_string(placement);
DECLARE_string(device_memory);
DECLARE_string(host_memory);
DECLARE_bool(deterministic);
DECLARE_int32(threads);
DECLARE_string(debug);
DECLARE_string(tf32);
DECLARE_string(machine);
DECLARE_string(profile);
DECLARE_string(spill_file);
DECLARE_string(spill_memory);
DECLARE_bool(measure_memory);
DECLARE_int32(verify_placement);
DECLARE_string(json_summary);
DECLARE_string(format);
DECLARE_bool(all_layers);
DECLARE_bool(largest_batch);
DECLARE_bool(smallest_budget);
DECLARE_string(dump);
DECLARE_string(output);
DECLARE_string(report);
DECLARE_string(data_shape);
DECLARE_string(top_shape);
DECLARE_bool(synthetic);
DECLARE_int32(batch);
DECLARE_int32(max_iter);
DECLARE_int32(opset);
DECLARE_bool(dynamic_batch);
DECLARE_bool(fold);
DECLARE_int32(verify);
DECLARE_string(onnx);

#endif  // TOOLS_LAYRUB_FLAGS_HPP_
