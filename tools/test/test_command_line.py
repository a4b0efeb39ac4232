#!/usr/bin/env python3
"""Tries the command line of layrub as a user would."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import unittest

from command_line import BIN, SOLVER, SOURCE, TINY_NET, DigitsTest, run, write

PLAN_KEYS = ["verdict", "strategy", "device_peak_bytes", "total_device_bytes", "persistent_bytes", "keep_peak_bytes",
             "floor_bytes", "state_floor_bytes", "smallest_budget_bytes", "largest_batch", "moved_bytes", "recomputed_ops", "recomputed_flops",
             "host_peak_bytes", "spill_bytes", "transient_gradients", "slices", "predicted_seconds", "keep_seconds",
             "time_floor_seconds", "peak_op", "breakdown"]


class CommandLine(DigitsTest):
    # Words and flags.

    def test_usage_names_every_command(self):
        for result in (run("--help"), run("-help")):
            self.assertEqual(0, result.code)
            for command in ("train", "test", "time", "plan", "diff", "device_query"):
                self.assertIn(command, result.out)
                self.assertIn("usage: layrub " + command, run(command, "--help").out)
        self.assertEqual(1, run().code)
        self.assertIn("usage", run().err)
        self.fails(run("train", "more"), "'train' takes only flags, and 'more' is not one; 'layrub train --help'")
        self.fails(run("diff", "one"), "usage: layrub diff A.caffemodel B.caffemodel")

    def test_version_and_all_flags(self):
        with open(os.path.join(SOURCE, "CMakeLists.txt")) as file:
            version = re.search(r"project\(Layrub VERSION (\S+)", file.read())[1]
        for program in ("layrub", "caffe"):
            self.assertIn(f"{program} version {version}\n", run("--version", program=program).out)
        flags = run("--helpfull")
        self.assertNotIn("never called", flags.out + flags.err)
        self.assertIn("usage: layrub <command>", flags.out)
        self.assertEqual((0, run("train", "--help").out), (run("train", "-h").code, run("train", "-h").out))

    def test_unknown_words_and_flags(self):
        self.fails(run("trian"), "unknown command 'trian' .*train")
        self.fails(run("train", "--sovler=x"), "unknown command line flag 'sovler'; did you mean --solver")
        self.fails(run("train", "--solver", "solver.prototxt", "--max_itre=3"), "did you mean --max_iter")
        self.fails(run("train", "--zzzzzzzzzz"), "flag 'zzzzzzzzzz'; 'layrub COMMAND --help' explains")
        self.fails(run("plan", "--model", "--modle=x"), "--modle=x")  # "--modle=x" is the value of --model
        for flag in ("--nostrict_mode", "-strict_mode", "--strict_mode=false"):
            self.fails(run("train", flag), "needs --solver=FILE")
        self.fails(run("time", "--model=x", "--iterations=many"), "iterations")
        self.fails(run("train"), "needs --solver=FILE")
        self.fails(run("train", "--solver=solver.prototxt", "--sigint_effect=panic"), "--sigint_effect=panic")
        self.fails(run("train", "--solver=solver.prototxt", "--snapshot=a", "--weights=b"), "not both")
        self.fails(run("train", "--solver=solver.prototxt", "--gpu=0"), "no GPU")
        self.fails(run("time", f"--model={SOURCE}/models/lenet/train_val.prototxt", "--synthetic", "--data_shape=1,28,28",
                       "--profile=x", "--placement=keep"), "'time --profile' runs without a memory plan.*--placement")
        self.fails(run("plan"), "needs --model=FILE or --solver=FILE")
        self.fails(run("plan", "--model=a", "--solver=b"), "--model or --solver, but not both")
        self.fails(run("train", "--solver=solver.prototxt", "--weights=a,,b"), "--weights=a,,b: a name in the list is empty")
        self.fails(run("train", "--solver=solver.prototxt", "--verify_placement=1", "--json_summary=x"), "no --json_summary")
        self.fails(run("device_query", "--gpu=first"), "--gpu=first")
        self.fails(run("device_query", "--gpu=0"), "no GPU")

    def test_a_solver_for_gpus_trains_on_the_cpu_in_a_cpu_only_build(self):
        if "CPU-only" not in run("device_query", "--gpu=0").last:
            self.skipTest("this build is for GPUs")
        write("solver.prototxt", SOLVER.replace("solver_mode: CPU", "solver_mode: GPU"))
        _, result = self.train()
        warnings = [line for line in result.err.splitlines() if line.startswith("W")]
        self.assertEqual(1, len(warnings), result.last)
        self.assertIn("solver_mode: GPU asks for a GPU, and this build is for the CPU only", warnings[0])
        self.assertIn("Use CPU.", result.err)
        self.fails(run("train", "--solver=solver.prototxt", "--strict_mode"),
                   "solver_mode: GPU .* set solver_mode: CPU, or leave out --strict_mode")
        self.fails(run("train", "--solver=solver.prototxt", "--gpu=0"), "no GPU")

    def test_a_solver_without_a_mode_trains_on_a_gpu_if_there_is_one(self):
        write("solver.prototxt", SOLVER.replace("solver_mode: CPU", ""))
        _, result = self.train()
        if "Using GPUs" not in result.err:
            self.assertRegex(result.err, "solver_mode is not set, and (this build is for the CPU only|there is no GPU to use .*): "
                                         "training on the CPU")
            self.assertIn("Use CPU.", result.err)

    def test_unused_flags_are_reported(self):
        model = "--model=examples/digits/train_test.prototxt"
        result = run("plan", model, "--max_iter=3", "--batch=7")
        self.assertEqual(0, result.code)
        self.assertRegex(result.err, "--max_iter has no effect on 'layrub plan'")
        self.assertNotIn("--batch has", result.err)
        self.assertNotIn("--model has", result.err)

    def test_flags_may_precede_or_follow_the_command_with_one_dash_or_two(self):
        model = "examples/digits/train_test.prototxt"
        reference = run("plan", "--model=" + model).out
        self.assertIn("device memory", reference)
        for args in (("-model=" + model, "plan"), ("plan", "-model", model), ("--model", model, "plan")):
            self.assertEqual(reference, run(*args).out)
        self.assertEqual(reference, run("plan", "--model=" + model, program="caffe").out)

    # Machines.

    def test_machines_are_known_by_name_or_read_from_a_profile(self):
        model = "--model=examples/digits/train_test.prototxt"
        self.fails(run("plan", model, "--machine=k90"), "no machine 'k90'; there are cpu, k40, .*h200.*no such file")
        self.assertIn("11441.0 MiB", run("plan", model, "--machine=k40").out)
        done = run("time", model, "--profile=profile.json", "--iterations=2")
        self.assertEqual(0, done.code, done.last)
        with open("profile.json") as file:
            profile = json.load(file)
        operations = {entry["op"] for entry in profile["operations"]}
        plan = run("plan", model, "--machine=profile.json", "--dump=dump")
        self.assertEqual((0, ""), (plan.code, plan.err))
        with open("dump/graph.txt") as file:
            self.assertEqual(operations, set(re.findall(r"^op (\S+)", file.read(), re.M)))
        train = run("train", "--solver=solver.prototxt", "--machine=profile.json", "--max_iter=1")
        self.assertEqual(0, train.code, train.last)
        self.assertRegex(run("plan", model, "--batch=3", "--machine=profile.json").err,
                         r"profile.json has times for \d+ of the %d operations" % len(operations))
        self.fails(run("time", model, "--profile=none/profile.json", "--iterations=1"), "Cannot write none/profile.json: No such file")

    def test_a_bad_profile_is_refused_with_file_and_key(self):
        def refused(pattern):
            self.fails(run("plan", "--model=examples/digits/train_test.prototxt", "--machine=bad.json"),
                       "--machine=bad.json: " + pattern)
        write("bad.json", "{")
        refused("is not JSON: .*line 1")
        keys = {"name": "x", "flops": 1, "memory_bandwidth": 1, "link_down": 1, "link_up": 1, "link_both": 1, "latency": 1,
                "compute_while_copying": 1, "copy_while_computing": 1}
        for key in keys:
            write("bad.json", json.dumps({name: value for name, value in keys.items() if name != key}))
            refused("key '%s' is missing" % key)
        write("bad.json", json.dumps(dict(keys, link_up=-1)))
        refused("key 'link_up' is not a number above 0")
        write("bad.json", json.dumps(dict(keys, operations=[{"op": "a", "variant": "x", "bytes_moved": 1, "seconds": "1"}])))
        refused(r"operations\[0\]: key 'seconds' is not a number above 0")
        write("bad.json", json.dumps(keys).replace('"flops": 1', '"flops": 1e999'))
        refused("is not JSON: .*1e999")
        write("bad.json", json.dumps(dict(keys, capacity=1e30)))
        refused("key 'capacity' is not a number of bytes")
        write("bad.json", json.dumps(dict(keys, tf32_flops=0)))
        refused("key 'tf32_flops' is not a number above 0")

    # Plans.

    def test_plan_predicts_tf32_rates_if_gpus_may_use_tf32(self):
        def seconds(*flags):
            plan = self.plan("--solver=solver.prototxt", "--batch=512", "--placement=keep", *flags)
            return plan["predicted_seconds"]

        self.assertEqual(seconds("--machine=h200"), seconds("--machine=h200", "--tf32=conv"))
        self.assertGreater(seconds("--machine=h200", "--tf32=off"), seconds("--machine=h200"))
        self.assertLessEqual(seconds("--machine=h200", "--tf32=all"), seconds("--machine=h200"))
        self.assertEqual(seconds("--machine=k40", "--tf32=off"), seconds("--machine=k40", "--tf32=all"))
        keys = {"name": "x", "flops": 1e9, "memory_bandwidth": 1e12, "link_down": 1, "link_up": 1, "link_both": 1,
                "latency": 1e-9, "compute_while_copying": 1, "copy_while_computing": 1}
        times = {}
        for rate in (1e9, 2e9):
            write("machine.json", json.dumps(dict(keys, tf32_flops=rate)))
            times[rate] = {tf32: seconds("--machine=machine.json", "--tf32=" + tf32) for tf32 in ("off", "conv", "all")}
        self.assertEqual(1, len(set(times[1e9].values())))
        self.assertGreater(times[2e9]["conv"], times[2e9]["all"])
        self.assertGreater(times[2e9]["off"], times[2e9]["conv"])

    def test_plan_reports_what_a_net_needs(self):
        plans = {name: self.plan("--solver=solver.prototxt", "--placement=" + name) for name in ("keep", "hybrid")}
        for name, plan in plans.items():
            self.assertEqual(PLAN_KEYS, list(plan))
            self.assertEqual("fits", plan["verdict"])
            self.assertEqual(name, plan["strategy"])
            self.assertEqual(plan["device_peak_bytes"], sum(plan["breakdown"].values()))
            self.assertEqual(plans["keep"]["device_peak_bytes"], plan["keep_peak_bytes"])
            self.assertLessEqual(plan["persistent_bytes"], plan["floor_bytes"])
            self.assertLessEqual(plan["floor_bytes"], plan["device_peak_bytes"])
            self.assertRegex(plan["peak_op"], "^[^/]+/(forward|backward|update)$")
        self.assertLess(plans["hybrid"]["device_peak_bytes"], plans["keep"]["device_peak_bytes"])
        self.assertEqual(0, plans["keep"]["host_peak_bytes"])
        self.assertGreater(plans["hybrid"]["host_peak_bytes"], 0)
        alone = self.plan("--model=examples/digits/train_test.prototxt")  # without the solver's test net
        self.assertLess(alone["total_device_bytes"], plans["keep"]["total_device_bytes"])
        self.assertLess(alone["smallest_budget_bytes"], plans["keep"]["smallest_budget_bytes"])
        self.assertEqual("auto", alone["strategy"])  # keep, if the budget allows it
        for key in set(PLAN_KEYS) - {"strategy", "total_device_bytes", "smallest_budget_bytes"}:
            self.assertEqual(plans["keep"][key], alone[key], key)

    def test_plan_needs_no_data(self):
        with_data = self.plan("--solver=solver.prototxt")
        shutil.rmtree("examples/digits/digits_train_lmdb")
        self.fails(run("plan", "--solver=solver.prototxt"), "digits.*--data_shape=C,H,W")
        self.fails(run("plan", "--solver=solver.prototxt", "--data_shape=1,8"), "--data_shape=1,8")
        self.assertEqual(with_data, self.plan("--solver=solver.prototxt", "--data_shape=1,8,8"))
        with open("examples/digits/train_test.prototxt") as file:
            cropped = file.read().replace("scale: 0.0625", "crop_size: 8 force_gray: true")
        write("examples/digits/train_test.prototxt", cropped)
        self.assertEqual(with_data, self.plan("--solver=solver.prototxt"))
        shutil.rmtree("examples/digits/digits_test_lmdb")
        for name in ("train", "test"):
            write(f"examples/digits/digits_{name}_lmdb", "no database")
        self.assertEqual(with_data, self.plan("--solver=solver.prototxt", "--data_shape=1,8,8"))

    def test_a_budget_that_is_too_small_exits_with_2_and_names_the_flag_that_works(self):
        for command in ("plan", "train"):
            result = run(command, "--solver=solver.prototxt", "--placement=hybrid", "--device_memory=100KiB")
            self.assertEqual(2, result.code, result.last)
            flag = re.search(r"--device_memory=\d+", result.out + result.err)
            self.assertTrue(flag, result.err)
            done = run(command, "--solver=solver.prototxt", "--placement=hybrid", flag.group(0))
            self.assertEqual(0, done.code, done.last)
        enough = self.plan("--solver=solver.prototxt", "--placement=hybrid")["smallest_budget_bytes"]
        result = run("train", "--solver=solver.prototxt", "--placement=keep", f"--device_memory={enough}")
        self.assertEqual(2, result.code, result.last)
        self.assertRegex(result.last, "strategy keep needs .*, and (--placement=.*, )?--placement=hybrid(, --placement=.*)? fits?$")
        tight = self.plan("--solver=solver.prototxt", "--device_memory=100KiB")
        self.assertEqual("does_not_fit", tight["verdict"])
        self.assertEqual(PLAN_KEYS, list(tight))
        self.fails(run("plan", "--solver=solver.prototxt", "--device_memory=lots"), "device_memory.*lots")
        self.fails(run("plan", "--solver=solver.prototxt", "--placement=magic"), "magic.*hybrid")

    def test_flags_override_the_placement_of_the_prototxt(self):
        write("solver.prototxt", SOLVER + 'placement { strategy: "hybrid" device_memory: "1GiB" }\n')
        self.assertEqual("hybrid", self.plan("--solver=solver.prototxt")["strategy"])
        self.assertEqual("keep", self.plan("--solver=solver.prototxt", "--placement=keep")["strategy"])
        self.assertEqual(2, run("plan", "--solver=solver.prototxt", "--device_memory=1KiB").code)
        # Field by field: a flag replaces what it names and leaves the rest as the prototxts have it.
        write("solver.prototxt", SOLVER + 'placement { device_memory: "1KiB" }\n')
        self.assertEqual(2, run("plan", "--solver=solver.prototxt", "--placement=hybrid").code)
        self.assertEqual(2, run("train", "--solver=solver.prototxt", "--placement=hybrid").code)
        self.assertEqual(2, run("plan", "--solver=solver.prototxt", "--machine=k40").code)
        self.assertEqual("auto", self.plan("--solver=solver.prototxt", "--device_memory=1GiB")["strategy"])
        with open("examples/digits/train_test.prototxt", "a") as file:
            file.write('placement { strategy: "hybrid" }\n')
        write("solver.prototxt", SOLVER)
        self.assertEqual("hybrid", self.plan("--solver=solver.prototxt")["strategy"])
        self.assertEqual("hybrid", self.train()[0]["strategy"])

    def test_a_spill_file_gives_the_same_bits_and_is_removed_afterwards(self):
        self.train("--placement=hybrid")
        os.rename("run_iter_4.caffemodel", "ram.caffemodel")
        os.mkdir("spill")
        for path in ("spill", "spill/file"):
            summary, result = self.train("--placement=hybrid", "--spill_file=" + path)
            self.assertGreater(summary["bytes_offloaded"], 0)
            self.assertIn("bit-equal: yes", run("diff", "ram.caffemodel", "run_iter_4.caffemodel").out)
            self.assertEqual([], os.listdir("spill"))
            self.assertEqual(0, summary["host_bytes"])
        half = str(summary["spill_bytes"] // 2)
        both, result = self.train("--placement=hybrid", "--spill_file=spill", "--host_memory=" + half)
        self.assertIn("bit-equal: yes", run("diff", "ram.caffemodel", "run_iter_4.caffemodel").out)
        self.assertTrue(0 < both["host_bytes"] <= int(half) and both["spill_bytes"] > 0, both)
        self.assertRegex(result.err, r"\] Placement: hybrid, .* host [\d.]+ [KM]iB, file [\d.]+ [KM]iB")
        least = run("plan", "--solver=solver.prototxt", "--placement=hybrid", "--host_memory=" + half, "--spill_memory=256")
        self.assertEqual(2, least.code)
        needed = re.search(r"--spill_memory=(\d+)", least.out + least.err)
        self.assertEqual(both["spill_bytes"], int(needed.group(1)))
        self.fails(run("train", "--solver=solver.prototxt", "--placement=hybrid", "--spill_memory=1GiB"),
                   "spill_memory bounds a file that is not named")
        write("spill/file", "precious")
        self.fails(run("train", "--solver=solver.prototxt", "--placement=hybrid", "--spill_file=spill/file"),
                   "Cannot make the spill file spill/file: File exists")
        self.fails(run("train", "--solver=solver.prototxt", "--placement=hybrid", "--spill_file=no/file"),
                   "Cannot make the spill file no/file: No such file")

    def test_a_killed_training_leaves_no_spill_file(self):
        write("long.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 100000000"))
        os.mkdir("spill")
        args = [os.path.join(BIN, "layrub"), "train", "--solver=long.prototxt", "--placement=hybrid", "--spill_file=spill"]
        with subprocess.Popen(args, stderr=subprocess.PIPE, text=True) as training:
            try:
                for line in training.stderr:
                    if "Iteration 2" in line:
                        break
                fds = "/proc/%d/fd" % training.pid
                opened = [os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)]
                self.assertTrue(any("layrub-spill" in path for path in opened), opened)
            finally:
                training.kill()
        self.assertEqual(-signal.SIGKILL, training.returncode)
        self.assertEqual([], os.listdir("spill"))

    def test_a_dumped_plan_passes_the_independent_check(self):
        result = run("plan", "--solver=solver.prototxt", "--placement=hybrid", "--dump=dumped")
        self.assertEqual(0, result.code, result.last)
        script = os.path.join(SOURCE, "tools/verify/verify_plan.py")
        check = subprocess.run([sys.executable, script, "dumped/graph.txt", "dumped/plan.txt"], capture_output=True,
                               text=True)
        self.assertEqual(0, check.returncode, check.stdout + check.stderr)

    # Training.

    def test_training_under_a_plan_gives_the_same_bits_within_the_planned_memory(self):
        self.leave_out_onednn()  # oneDNN does not touch all of its workspace
        moving = ("inter", "hybrid", "vdnn_all", "vdnn_all_fast", "vdnn_conv", "vdnn_conv_fast")
        for strategy in ("keep", "liveness", "intra", *moving, "sqrt", "superneurons"):
            planned = self.plan("--solver=solver.prototxt", "--placement=" + strategy)
            summary, result = self.train("--placement=" + strategy, "--measure_memory")
            self.assertEqual(planned["device_peak_bytes"], summary["train_device_bytes"])
            self.assertLess(summary["train_device_bytes"], summary["planned_device_bytes"])  # the test net's
            self.assertEqual(planned["host_peak_bytes"], summary["host_bytes"])
            for of_a_gpu in ("other_processes_bytes", "context_bytes", "library_bytes", "device_peak_measured_bytes",
                             "counted_device_bytes"):
                self.assertIsNone(summary[of_a_gpu])
            self.assertLessEqual(summary["measured_device_bytes"], summary["planned_device_bytes"])
            self.assertGreater(summary["measured_device_bytes"], summary["planned_device_bytes"] - 512)
            self.assertEqual(strategy in moving, summary["bytes_offloaded"] > 0)
            self.assertEqual(strategy == "sqrt", planned["recomputed_ops"] > 0)
            self.assertEqual(strategy == "sqrt", planned["recomputed_flops"] > 0)
            self.assertRegex(result.err, r"\] Placement: " + strategy + r", device [\d.]+ MiB \(keep ")
            self.assertRegex(result.err, r"\] Memory: " + strategy)
            for line in result.err.splitlines():
                if "Placement:" in line or "Memory:" in line:
                    self.assertNotRegex(line, r"Iteration \d|lr = ")
            os.rename("run_iter_4.caffemodel", strategy + ".caffemodel")
        same = run("diff", "keep.caffemodel", "hybrid.caffemodel")
        self.assertEqual((0, "weights bit-equal: yes\n"), (same.code, same.out))

    def test_a_placement_is_verified_on_the_users_own_net(self):
        for strategy in ("keep", "hybrid", "sqrt"):
            result = run("train", "--solver=solver.prototxt", "--placement=" + strategy, "--verify_placement=3")
            self.assertEqual((0, "Placement verified: 3 iterations bit-equal\n"), (result.code, result.out), result.last)
        self.assertFalse(os.path.exists("run_iter_4.caffemodel"))
        result = run("train", "--solver=solver.prototxt", "--verify_placement=1", "--device_memory=1KiB")
        self.assertEqual(2, result.code, result.last)
        self.fails(run("train", "--solver=solver.prototxt", "--verify_placement=-1"), "--verify_placement")
        command = [os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", "--verify_placement=1000000"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as verifying:
            for line in verifying.stderr:
                if "With the plan: iteration" in line:
                    verifying.send_signal(signal.SIGINT)
                    break
            verifying.stderr.read()
            self.assertEqual(-signal.SIGINT, verifying.wait(timeout=60))

    def test_several_placements_are_verified_in_one_process_even_if_one_fails(self):
        solver = ("train", "--solver=solver.prototxt", "--verify_placement=2")
        result = run(*solver, "--placement=keep,auto:1.2,hybrid")
        self.assertEqual([f"{name}: Placement verified: 2 iterations bit-equal" for name in ("keep", "auto:1.2", "hybrid")],
                         result.out.splitlines(), result.last)
        self.assertEqual(0, result.code, result.last)
        budgets = [float(found) for found in re.findall(r"Placement: auto, device ([\d.]+) MiB", result.err)]
        floor = self.plan("--solver=solver.prototxt", "--deterministic")["floor_bytes"] / 2 ** 20
        self.assertTrue(budgets and all(floor <= budget <= 1.2 * floor + 0.1 for budget in budgets), (budgets, floor))
        result = run(*solver, "--placement=keep,auto", "--device_memory=1KiB")
        self.assertEqual(2, result.code, result.last)
        self.assertIn("layrub: keep: ", result.err)
        self.assertIn("layrub: auto: ", result.err)
        for wrong in ("auto:", "auto:0.5", "auto:x", "auto:nan", "auto:1e9"):
            self.fails(run(*solver, "--placement=" + wrong), "--placement=" + wrong + ": give a number of at least 1 after the colon")
        result = run(*solver, "--placement=keep,best")
        self.fails(result, "--placement=best: there is no placement strategy 'best'")
        self.assertEqual("", result.out, "nothing has been trained")

    def test_a_comparison_writes_no_snapshots_and_needs_no_folder_for_them(self):
        write("net.prototxt", TINY_NET)
        write("small.prototxt", 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 2 snapshot: 1 '
                                'snapshot_prefix: "nowhere/at/all"')
        result = run("train", "--solver=small.prototxt", "--verify_placement=2", "--placement=auto:1.1,auto:1,hybrid")
        self.assertEqual([f"{name}: Placement verified: 2 iterations bit-equal" for name in ("auto:1.1", "auto:1", "hybrid")],
                         result.out.splitlines(), result.last)

    def test_a_budget_in_multiples_of_the_least_memory_includes_the_test_net(self):
        net = "examples/digits/train_test.prototxt"
        with open(net) as file:
            text = file.read()
        write(net, text.replace("batch_size: 100", "batch_size: 5"))
        result = run("train", "--solver=solver.prototxt", "--verify_placement=1", "--placement=sqrt:1,auto:1")
        self.assertEqual([f"{name}: Placement verified: 1 iterations bit-equal" for name in ("sqrt:1", "auto:1")],
                         result.out.splitlines(), result.last)

    def test_diff_reports_one_flipped_bit(self):
        self.train()
        with open("run_iter_4.caffemodel", "rb") as file:
            model = bytearray(file.read())
        # The last layer with weights is ip2; its bias, ten floats, is among the last bytes of the file.
        scale = run("diff", "run_iter_4.caffemodel", "run_iter_4.caffemodel")
        self.assertEqual(0, scale.code, scale.out)
        bias = model.rindex(struct.pack("<BB", 0x2A, 40)) + 2  # field 5 (data), packed, 40 bytes
        model[bias + 4 * 3] ^= 1
        with open("flipped.caffemodel", "wb") as file:
            file.write(model)
        result = run("diff", "run_iter_4.caffemodel", "flipped.caffemodel")
        self.assertEqual(1, result.code)
        self.assertRegex(result.out, "^ip2, blob 1: 1 of 10 values differ, the first at 3: .* and .*\n"
                                     "weights bit-equal: no\n$")

    def test_training_resumes(self):
        self.train()
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 6"))
        summary, result = self.train("--snapshot=run_iter_4.solverstate")
        self.assertEqual(6, summary["iterations"])
        self.assertIn("Resuming from run_iter_4.solverstate", result.err)
        self.fails(run("train", "--solver=solver.prototxt", "--snapshot=run_iter_4.caffemodel"), "weights only")
        _, tuned = self.train("--weights=run_iter_4.caffemodel")
        self.assertIn("Finetuning from run_iter_4.caffemodel", tuned.err)

    def test_a_resumed_run_has_the_bits_of_one_that_was_not_interrupted(self):
        # In the middle of its second pass through the 15 batches of the data set.
        for strategy in ("keep", "hybrid"):
            write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 34\nsnapshot: 20"))
            self.train("--placement=" + strategy)
            os.rename("run_iter_34.caffemodel", strategy + ".caffemodel")
            self.train("--placement=" + strategy, "--snapshot=run_iter_20.solverstate")
            same = run("diff", strategy + ".caffemodel", "run_iter_34.caffemodel")
            self.assertEqual((0, "weights bit-equal: yes\n"), (same.code, same.out), strategy)
        self.assertEqual(0, run("diff", "keep.caffemodel", "hybrid.caffemodel").code)

    def test_an_interrupt_stops_training_with_a_snapshot(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 100000"))
        command = [os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", "--placement=hybrid"]
        env = dict(os.environ, GLOG_log_dir=os.getcwd())
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as training:
            for line in training.stderr:
                if "Iteration 4, lr" in line:
                    training.send_signal(signal.SIGINT)
                    break
            rest = training.stderr.read()
            self.assertEqual(0, training.wait(timeout=60), rest[-500:])
        self.assertIn("Optimization stopped early.", rest)
        written = re.search(r"Snapshotting solver state to binary proto file (\S+)", rest).group(1)
        self.assertTrue(os.path.exists(written))

    def test_an_unwritable_snapshot_is_refused_before_training(self):
        write("solver.prototxt", SOLVER.replace('"run"', '"missing/run"'))
        result = run("train", "--solver=solver.prototxt")
        self.fails(result, "Cannot write to snapshot prefix 'missing/run'")
        self.assertNotIn("Iteration 0", result.err)

    def test_test_and_time_report_as_caffe_does(self):
        self.train()
        model = "--model=examples/digits/train_test.prototxt"
        result = run("test", model, "--weights=run_iter_4.caffemodel", "--iterations=2")
        self.assertEqual(0, result.code, result.last)
        self.assertRegex(result.err, r"\] Batch 1, accuracy = [\d.]+\n")
        self.assertRegex(result.err, r"\] Loss: [\d.]+\n")
        self.assertRegex(result.err, r"\] accuracy = [\d.]+\n")
        result = run("time", model, "--iterations=2")
        self.assertEqual(0, result.code, result.last)
        self.assertRegex(result.err, r"conv1\tforward: [\d.e+-]+ ms\.\n")
        self.assertRegex(result.err, r"conv1\tbackward: [\d.e+-]+ ms\.\n")
        for line in ("*** Benchmark begins ***", "Average time per layer: ", "Average Forward pass: ",
                     "Average Backward pass: ", "Average Forward-Backward: ", "Total Time: "):
            self.assertIn(line, result.err)
        self.assertEqual(0, run("device_query").code)


if __name__ == "__main__":
    unittest.main(verbosity=2)
