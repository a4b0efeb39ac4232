#include "layrub/flags.hpp"

DEFINE_string(solver, "", "The solver definition (prototxt).");
DEFINE_string(model, "", "The model definition (prototxt).");
DEFINE_string(weights, "",
              "Trained weights to start from: one or more .caffemodel files, separated by commas.");
DEFINE_string(snapshot, "",
              "The .solverstate file to resume training from; latest: the newest whole one under "
              "snapshot_prefix.");
DEFINE_string(
    load, "",
    "Libraries with layers of your own, separated by commas: each registers its types when "
    "it is loaded.");
DEFINE_string(gpu, "", "The GPU to run on: a number, several separated by commas, or 'all'.");
DEFINE_bool(strict_mode, false,
            "Refuse solver_mode: GPU in a build for the CPU only, instead of a warning.");
DEFINE_int32(cpu_solvers, 1,
             "Train on the CPU with so many solvers, each with its own part of the data.");
DEFINE_string(phase, "", "The phase of the net: TRAIN (default) or TEST.");
DEFINE_int32(level, 0, "The level of the net's state.");
DEFINE_string(stage, "", "The stages of the net's state, separated by commas.");
DEFINE_int32(iterations, 50, "The number of iterations to run.");
DEFINE_string(sigint_effect, "stop", "What SIGINT does: snapshot, stop or none.");
DEFINE_string(sighup_effect, "snapshot", "What SIGHUP does: snapshot, stop or none.");
DEFINE_string(sigterm_effect, "stop", "What SIGTERM does: snapshot, stop or none.");
DEFINE_bool(stop_on_nan, false,
            "End training when the loss is not finite, and keep the snapshots.");
DEFINE_string(placement, "", "The memory strategy; wins over the prototxt's placement.");
DEFINE_string(device_memory, "",
              "The most device memory to use, such as 8GiB; wins over the prototxt's placement.");
DEFINE_string(host_memory, "",
              "The most host memory for what is moved off the device; wins likewise.");
DEFINE_bool(deterministic, false,
            "The same memory plan in each run, whatever is measured, and reproducible results.");
DEFINE_int32(threads, 0,
             "Threads that compute on the CPU; 0: as many as the process may use cores.");
DEFINE_bool(fuse_layers, true,
            "Under a memory plan, layers that compute in place behind another run in one with it: "
            "BatchNorm, Scale and ReLU.");
DEFINE_bool(channel_blocks, true,
            "Under a memory plan, channels lie in blocks between convolutions that want them so.");
DEFINE_bool(cuda_graph, true,
            "Under a memory plan, a GPU repeats what it has done in the iteration before without "
            "the host queueing each kernel.");
DEFINE_string(tf32, "conv",
              "What a GPU may round to TF32 as it multiplies single precision numbers: off "
              "(nothing), conv (convolutions) or all (products of matrices as well).");
DEFINE_string(machine, "",
              "The machine to plan for: one that is known by name, or a file from --profile.");
DEFINE_string(profile, "", "A file for the machine and the operations that are measured.");
DEFINE_string(spill_file, "",
              "A folder, or a new file, for what is moved off the device; wins likewise.");
DEFINE_bool(measure_memory, false,
            "Find out how much of the planned device memory training really touches.");
DEFINE_int32(verify_placement, 0,
             "Instead of training: train so many iterations with and without the memory plan, and "
             "compare them bit by bit.");
DEFINE_string(json_summary, "", "A file for the outcome of training, as JSON.");
DEFINE_string(format, "text", "How to print a plan: text or json.");
DEFINE_bool(all_layers, false, "Print a row for every layer of the plan, however many.");
DEFINE_bool(largest_batch, false,
            "Look for the largest batch within --device_memory even where that takes long.");
DEFINE_bool(smallest_budget, false,
            "Look for the smallest device memory that fits even where that takes long.");
DEFINE_string(dump, "", "A folder for graph.txt and plan.txt.");
DEFINE_string(output, "", "The file to write.");
DEFINE_string(report, "", "A folder for the report: a page, pictures and data of the plan.");
DEFINE_string(data_shape, "",
              "Shape C,H,W of one item, whatever the data source has, or of tops by name.");
DEFINE_string(top_shape, "",
              "Shapes, by name, of the tops of layers that are not here, to plan without them.");
DEFINE_bool(synthetic, false, "Random data of the right shape instead of what data layers read.");
DEFINE_int32(batch, 0, "The batch size of data layers; wins over the prototxt's.");
DEFINE_int32(max_iter, 0, "Iterations to train; wins over the solver's max_iter.");
