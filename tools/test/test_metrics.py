#!/usr/bin/env python3
"""metrics.jsonl of `layrub train --report`: one line for each iteration and test, whole however training ends."""
import json
import math
import os
import re
import resource
import signal
import subprocess
import time
import unittest

from command_line import BIN, SOLVER, TINY_NET, DigitsTest, run, write

TINY_SOLVER = 'net: "net.prototxt" base_lr: %g lr_policy: "fixed" max_iter: %d snapshot_prefix: "run" ' \
              "snapshot_after_train: false solver_mode: CPU random_seed: 1\n"


def read(path="report/metrics.jsonl"):
    with open(path) as file:
        text = file.read()
    assert text.endswith("\n"), text[-200:]
    return [json.loads(line) for line in text.splitlines()]


def steady(lines):
    """Without what differs from run to run."""
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


class Metrics(DigitsTest):

    def report(self, *flags):
        result = run("train", "--solver=solver.prototxt", "--report=report", "--deterministic", *flags)
        self.assertEqual(0, result.code, result.last)
        return result

    def test_each_iteration_and_each_test_has_a_line_that_says_what_the_log_says(self):
        write("solver.prototxt", SOLVER.replace('"fixed"', '"step" gamma: 0.5 stepsize: 2').replace(
            "display: 2", "display: 1 average_loss: 3").replace("max_iter: 4", "max_iter: 8"))
        result = self.report("--device_memory=2MiB", "--json_summary=summary.json")
        lines = read()
        iterations = [line for line in lines if "test" not in line]
        self.assertEqual(list(range(8)), [line["iteration"] for line in iterations])
        tests = [(line["iteration"], line["test"]) for line in lines if "test" in line]
        self.assertEqual([(0, 0), (4, 0), (8, 0)], tests)
        order = [line["iteration"] for line in lines]
        self.assertEqual(sorted(order), order)
        with open("summary.json") as file:
            summary = json.load(file)
        for line in iterations:
            self.assertEqual(["iteration", "loss", "smoothed_loss", "lr", "seconds", "device_bytes", "host_bytes"],
                             list(line))
            self.assertGreater(line["seconds"], 0)
            self.assertEqual(summary["planned_device_bytes"], line["device_bytes"])
            self.assertEqual(summary["host_bytes"], line["host_bytes"])
            last = [one["loss"] for one in iterations[max(0, line["iteration"] - 2):line["iteration"] + 1]]
            self.assertAlmostEqual(sum(last) / len(last), line["smoothed_loss"], 4)
        self.assertLess(sum(line["seconds"] for line in iterations), summary["seconds"])
        self.assertEqual([0.05, 0.05, 0.025, 0.025], [line["lr"] for line in iterations[:4]])
        logged = re.findall(r"Iteration (\d+) \(.*loss = (\S+)", result.err)
        self.assertEqual(8, len(logged))
        for iteration, loss in logged:
            self.assertAlmostEqual(float(loss), iterations[int(iteration)]["smoothed_loss"], 4)
        scores = {score["name"]: score["value"] for score in summary["test_scores"]}
        self.assertEqual(scores.keys(), lines[-1]["scores"].keys())
        for name, value in lines[-1]["scores"].items():
            self.assertAlmostEqual(scores[name], value, 6)

    def test_a_resumed_training_goes_on_in_the_file_of_one_that_never_stopped(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 8 snapshot: 3"))
        self.report()
        whole = steady(read())
        with open("report/metrics.jsonl", "a") as file:
            file.write('{"iteration":8,"lo')  # a write that was cut short
        result = self.report("--snapshot=run_iter_3.solverstate")
        self.assertEqual(whole, steady(read()))
        self.assertRegex(result.err, r"metrics.jsonl goes on at iteration 3, \d+ later lines are cut")
        self.assertEqual(1, len([name for name in os.listdir("report") if "metrics" in name]))
        os.remove("report/metrics.jsonl")
        self.report("--snapshot=run_iter_6.solverstate")
        self.assertEqual([line for line in whole if line["iteration"] >= 6], steady(read()))

    def test_another_training_puts_the_file_aside(self):
        write("net.prototxt", TINY_NET)
        for rate in (0.01, 0.02, 0.03):
            write("solver.prototxt", TINY_SOLVER % (rate, 3))
            result = self.report()
        self.assertIn("report/metrics.2.jsonl", result.err)
        rates = [{line["lr"] for line in read(f"report/metrics{number}.jsonl")} for number in (".1", ".2", "")]
        self.assertEqual([{0.01}, {0.02}, {0.03}], rates)

    def test_a_file_that_holds_something_else_is_refused_and_left_alone(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 4 snapshot: 2"))
        self.report()
        for text in ('{"iteration":0}\nno JSON\n', '{"iteration":0}\n7\n'):
            write("report/metrics.jsonl", text)
            result = run("train", "--solver=solver.prototxt", "--report=report", "--snapshot=run_iter_2.solverstate")
            self.fails(result, r"report/metrics.jsonl, line 2 is no JSON object: move the file away")
            with open("report/metrics.jsonl") as file:
                self.assertEqual(text, file.read())

    def test_values_that_are_not_finite_are_null(self):
        write("net.prototxt", TINY_NET)
        write("solver.prototxt", TINY_SOLVER % (1e30, 6))
        self.report()
        lines = read()
        self.assertTrue(math.isfinite(lines[0]["loss"]))
        self.assertIsNone(lines[-1]["loss"])
        self.assertIsNone(lines[-1]["smoothed_loss"])
        self.assertEqual(1e30, lines[-1]["lr"])

    def test_several_values_of_an_output_are_a_list(self):
        write("net.prototxt", TINY_NET + 'layer { name: "copy" type: "Power" bottom: "y" top: "scores" }')
        write("solver.prototxt", TINY_SOLVER % (0.01, 2) + "test_iter: 1 test_interval: 1\n")
        self.report()
        tests = [line for line in read() if "test" in line]
        self.assertEqual([0, 1, 2], [line["iteration"] for line in tests])
        self.assertEqual(4, len(tests[0]["scores"]["scores"]))
        self.assertIsInstance(tests[0]["scores"]["loss"], float)

    def test_a_killed_training_leaves_whole_lines_of_all_that_it_did(self):
        write("net.prototxt", TINY_NET)
        write("solver.prototxt", TINY_SOLVER % (0.01, 100000000))
        with subprocess.Popen([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", "--report=report"],
                              stderr=subprocess.DEVNULL, env=dict(os.environ, GLOG_log_dir=os.getcwd())) as process:
            path = "report/metrics.jsonl"
            for _ in range(6000):
                if os.path.exists(path) and os.path.getsize(path) > 20000:
                    break
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        lines = read()
        self.assertGreater(len(lines), 100)
        self.assertEqual(list(range(len(lines))), [line["iteration"] for line in lines])

    def test_a_stopped_training_has_its_report(self):
        write("net.prototxt", TINY_NET)
        write("solver.prototxt", TINY_SOLVER % (0.01, 100000000) + "display: 100\n")
        with subprocess.Popen([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", "--report=report"],
                              stderr=subprocess.PIPE, env=dict(os.environ, GLOG_log_dir=os.getcwd())) as process:
            for line in process.stderr:
                if b"Iteration 200 " in line:
                    process.send_signal(signal.SIGINT)
                    break
            said = process.stderr.read().decode()
        self.assertEqual(0, process.returncode, said[-1500:])
        for name in ("report.html", "memory.svg", "map.svg", "trace.json", "metrics.jsonl"):
            self.assertGreater(os.path.getsize("report/" + name), 0, name)

    def test_training_goes_on_where_the_file_cannot_grow(self):
        write("net.prototxt", TINY_NET)
        write("solver.prototxt", TINY_SOLVER % (0.01, 200))
        done = subprocess.run([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", "--report=report"],
                              capture_output=True, text=True, timeout=60, restore_signals=False,  # SIGXFSZ: ignored
                              env=dict(os.environ, GLOG_logtostderr="1"),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)))
        warnings = [line for line in done.stderr.splitlines() if line.startswith("W") and "metrics.jsonl" in line]
        self.assertEqual(1, len(warnings), done.stderr[-1500:])
        self.assertIn("Training goes on", warnings[0])
        self.assertIn("Optimization Done.", done.stderr)
        lines = read()
        self.assertLess(len(lines), 200)
        first = int(re.search(r"lines from iteration (\d+) on may be missing", warnings[0])[1])
        iterations = [line["iteration"] for line in lines]
        self.assertEqual(list(range(first)), iterations[:first])
        self.assertNotIn(first, iterations)

    def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_done(self):
        write("file", "")
        result = run("train", "--solver=solver.prototxt", "--report=file")
        self.fails(result, "--report: .*file")
        self.assertNotIn("Creating training net", result.err)
        self.fails(run("train", "--solver=solver.prototxt", "--report=new", "--verify_placement=1"), "no --report")


if __name__ == "__main__":
    unittest.main(verbosity=2)
