#!/usr/bin/env python3
"""metrics.jsonl of `layrub train --report`: one complete line for each iteration and test, however training ends."""
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
    """The lines without what differs from run to run."""
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


class Metrics(DigitsTest):

    def report(self, *flags):
        result = run("train", "--solver=solver.prototxt", "--report=report", "--deterministic", *flags)
        self.assertEqual(0, result.code, result.last)
        return result

    def test_each_iteration_and_each_test_has_a_line_with_the_values_of_the_log(self):
        write("solver.prototxt", SOLVER.replace('"fixed"', '"step" gamma: 0.5 stepsize: 2').replace(
            "display: 2", "display: 1 average_loss: 3").replace("max_iter: 4", "max_iter: 8"))
        smallest = self.plan("--solver=solver.prototxt")["smallest_budget_bytes"]
        result = self.report(f"--device_memory={smallest}", "--json_summary=summary.json")
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
            self.assertEqual(["iteration", "loss", "smoothed_loss", "lr", "seconds", "device_bytes", "host_bytes", "spill_bytes"],
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

    def test_a_resumed_training_writes_the_same_file_as_an_uninterrupted_one(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 8 snapshot: 3"))
        self.report()
        whole = steady(read())
        result = self.report("--snapshot=run_iter_3.solverstate")
        self.assertEqual(whole, steady(read()))
        self.assertRegex(result.err, r"metrics.jsonl goes on at iteration 3, \d+ later lines are cut")
        os.remove("report/metrics.jsonl")
        self.report("--snapshot=run_iter_6.solverstate")
        self.assertEqual([line for line in whole if line["iteration"] >= 6], steady(read()))

    def metrics_files(self):
        return sorted(name for name in os.listdir("report") if "metrics" in name)

    def test_lines_of_repeated_iterations_are_kept_in_another_file(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 4 snapshot: 2"))
        self.report()
        before = read()
        result = self.report("--snapshot=run_iter_2.solverstate")
        self.assertIn("they are in report/metrics.1.jsonl", result.err)
        self.assertEqual(before, read("report/metrics.1.jsonl"))
        after = read()
        self.assertEqual(steady(before), steady(after))
        result = self.report("--snapshot=run_iter_2.solverstate")
        self.assertEqual(["metrics.1.jsonl", "metrics.2.jsonl", "metrics.jsonl"], self.metrics_files())
        self.assertEqual(before, read("report/metrics.1.jsonl"))
        self.assertEqual(after, read("report/metrics.2.jsonl"))

    def test_an_incomplete_last_line_is_dropped_without_a_copy(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 4 snapshot: 2"))
        self.report()
        whole = read()
        with open("report/metrics.jsonl", "w") as file:
            for line in whole:
                if line["iteration"] < 2:
                    file.write(json.dumps(line) + "\n")
            file.write('{"iteration":2,"lo')
        result = self.report("--snapshot=run_iter_2.solverstate")
        self.assertEqual(steady(whole), steady(read()))
        self.assertNotIn("are cut", result.err)
        self.assertEqual(["metrics.jsonl"], self.metrics_files())

    def test_another_training_renames_the_old_report(self):
        write("net.prototxt", TINY_NET)
        names = [("report", "html"), ("memory", "svg"), ("map", "svg"), ("trace", "json"), ("metrics", "jsonl")]
        write("solver.prototxt", TINY_SOLVER % (0.01, 3) + "snapshot: 2\n")
        self.report()
        first = {}
        for name, end in names:
            with open(f"report/{name}.{end}", encoding="utf-8") as file:
                first[name] = file.read()
        write("report/metrics.1.jsonl", "of somebody\n")
        result = self.report()
        for name, end in names:
            with open(f"report/{name}.2.{end}", encoding="utf-8") as file:
                self.assertEqual(first[name], file.read())
            self.assertIn(f"report/{name}.2.{end}", result.err)
            self.assertGreater(os.path.getsize(f"report/{name}.{end}"), 0)
        # A resumed training overwrites its report.
        before = sorted(os.listdir("report"))
        self.report("--snapshot=run_iter_2.solverstate")
        self.assertEqual(sorted(before + ["metrics.3.jsonl"]), sorted(os.listdir("report")))

    def page_metrics(self):
        with open("report/report.html", encoding="utf-8") as file:
            text = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S)[1]
        return json.loads(text)["metrics"]

    def test_each_curve_of_a_long_training_is_thinned_and_keeps_its_ends(self):
        write("net.prototxt", TINY_NET)
        write("solver.prototxt", TINY_SOLVER % (0.01, 7000) + "test_iter: 1 test_iter: 1 test_interval: 1\n"
              'test_net: "net.prototxt" test_net: "net.prototxt"\n')
        self.report()
        lines = self.page_metrics()
        self.assertEqual(sorted(line["iteration"] for line in lines), [line["iteration"] for line in lines])
        for test, last in ((None, 6999), (0, 7000), (1, 7000)):
            iterations = [line["iteration"] for line in lines if line.get("test") == test]
            self.assertEqual((0, last), (iterations[0], iterations[-1]))
            self.assertTrue(3000 < len(iterations) <= 4001, len(iterations))
            self.assertLessEqual(max(b - a for a, b in zip(iterations, iterations[1:])), 2)

    def test_another_training_renames_the_old_file(self):
        write("net.prototxt", TINY_NET)
        for rate in (0.01, 0.02, 0.03):
            write("solver.prototxt", TINY_SOLVER % (rate, 3))
            result = self.report()
        self.assertIn("report/metrics.2.jsonl", result.err)
        self.assertNotIn("report/metrics.1.jsonl", result.err)
        rates = [{line["lr"] for line in read(f"report/metrics{number}.jsonl")} for number in (".1", ".2", "")]
        self.assertEqual([{0.01}, {0.02}, {0.03}], rates)

    def test_a_file_with_other_contents_is_refused_and_not_changed(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 4 snapshot: 2"))
        self.report()
        for text in ('{"iteration":0}\nno JSON\n', '{"iteration":0}\n7\n'):
            write("report/metrics.jsonl", text)
            result = run("train", "--solver=solver.prototxt", "--report=report", "--snapshot=run_iter_2.solverstate")
            self.fails(result, r"report/metrics.jsonl, line 2 is not a JSON object: move the file away")
            with open("report/metrics.jsonl") as file:
                self.assertEqual(text, file.read())

    def test_paths_that_are_not_regular_files_are_refused_before_training(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 4 snapshot: 2"))
        self.report()
        for replace in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
            os.remove("report/metrics.jsonl")
            replace("report/metrics.jsonl")
            for flags in ([], ["--snapshot=run_iter_2.solverstate"]):
                result = run("train", "--solver=solver.prototxt", "--report=report", *flags)
                self.fails(result, "report/metrics.jsonl is no regular file")

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

    def test_a_killed_training_leaves_complete_lines_of_all_iterations(self):
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
        self.assertGreater(len(self.page_metrics()), 0)
        for name in ("report.html", "memory.svg", "map.svg", "trace.json", "metrics.jsonl"):
            self.assertGreater(os.path.getsize("report/" + name), 0, name)

    def test_a_report_with_missing_or_damaged_metrics_has_no_curves(self):
        # Some milliseconds per iteration, so that no line is left out of the curves.
        write("net.prototxt", TINY_NET.replace("dim: 2 dim: 3", "dim: 500 dim: 2000").replace("dim: 2 dim: 2", "dim: 500 dim: 2"))
        write("solver.prototxt", TINY_SOLVER % (1e-9, 1000000))

        def damage():
            with open("report/metrics.jsonl", "a") as file:
                file.write("no JSON\n")

        for change, words in ((lambda: os.remove("report/metrics.jsonl"), "cannot read report/metrics.jsonl: No such file"),
                              (damage, r"report/metrics.jsonl, line \d+ is not a JSON object")):
            with subprocess.Popen([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", "--report=report"],
                                  stderr=subprocess.PIPE, text=True,
                                  env=dict(os.environ, GLOG_log_dir=os.getcwd())) as process:
                for line in process.stderr:
                    if "Iteration 0 " in line or "Starting Optimization" in line:
                        break
                for _ in range(6000):
                    if os.path.exists("report/metrics.jsonl") and os.path.getsize("report/metrics.jsonl") > 0:
                        break
                    time.sleep(0.001)
                change()
                process.send_signal(signal.SIGINT)
                said = process.stderr.read()
            self.assertEqual(0, process.returncode, said[-1500:])
            warnings = [line for line in said.splitlines() if line.startswith("W")]
            self.assertEqual(1, len(warnings), said[-1500:])
            self.assertRegex(warnings[0], f"The report has no curves of the training: {words}")
            self.assertEqual([], self.page_metrics())

    def test_training_goes_on_if_the_file_cannot_grow(self):
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
        # The report exceeds the limit, too: that is an error, but failing metrics are not.
        self.assertEqual(1, done.returncode, done.stderr[-1500:])
        self.assertRegex(done.stderr.splitlines()[-1], r"report/\w+\.(svg|html|json)\b")
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
        os.makedirs("report/metrics.jsonl")
        result = run("train", "--solver=solver.prototxt", "--report=report")
        self.fails(result, "report/metrics.jsonl.*it is a folder")
        self.assertNotIn("Creating training net", result.err)

    def test_a_refused_command_line_makes_no_folder(self):
        for args, words in ((["--verify_placement=1"], "no --report"), (["--sigint_effect=x"], "--sigint_effect=x"),
                            (["--snapshot=latest", "--max_iter=0"], "--max_iter must be"),
                            (["--solver=none"], "none")):
            self.fails(run("train", "--solver=solver.prototxt", "--report=new", *args), words)
            self.assertFalse(os.path.exists("new"), args)
        for command in ("plan", "compare"):
            for args in (["--model=none"], ["--solver=solver.prototxt", "--machine=none"],
                         ["--solver=solver.prototxt", "--device_memory=much"]):
                self.assertEqual(1, run(command, "--report=new", *args).code)
                self.assertFalse(os.path.exists("new"), args)


if __name__ == "__main__":
    unittest.main(verbosity=2)
