#!/usr/bin/env python3
"""Nets that are divided among devices: plans, and training with processes of mpirun."""
import json
import os
import re
import signal
import subprocess
import sys
import unittest
from xml.etree import ElementTree

from command_line import SOURCE, SOLVER, DigitsTest, at_once, run, sample, write
from test_ranks import RanksTest, mpirun

MODEL = os.path.join(SOURCE, "models/alexnet/train_val.prototxt")
PLAN = ("plan", "--model=" + MODEL, "--synthetic", "--machine=k80")
PARTITIONS = ("auto", "tofu", "data", "chop", "rows")
VERIFY = os.path.join(SOURCE, "tools/verify")
SEQUENCES = """
layer { name: "data" type: "DummyData" top: "x" dummy_data_param { shape { dim: 3 dim: 8 dim: 6 } } }
layer { name: "cont" type: "DummyData" top: "cont" dummy_data_param { shape { dim: 3 dim: 8 } } }
layer { name: "target" type: "DummyData" top: "t" dummy_data_param { shape { dim: 3 dim: 8 dim: 8 } } }
layer { name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" top: "h" recurrent_param { num_output: 16 } }
layer { name: "rnn" type: "RNN" bottom: "h" bottom: "cont" top: "o" recurrent_param { num_output: 8 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "o" bottom: "t" top: "loss" }
"""
sys.path.insert(0, VERIFY)
import plan_devices  # noqa: E402  (in the folder that the line above adds)


class Plans(DigitsTest):
    def test_report_each_device_and_the_bytes_between_them(self):
        plans = dict(zip(PARTITIONS, at_once(self.plan, PARTITIONS)))
        for name, plan in plans.items():
            with self.subTest(partition=name):
                self.assertEqual(name, plan["partition"])
                self.assertEqual(4, plan["devices"])
                self.assertGreater(plan["received_bytes"], 0)
                # No device is faster than a fourth of the whole, and exchanges take time.
                self.assertGreater(plan["predicted_seconds"], plan["whole_seconds"] / 4)
                self.assertLess(plan["predicted_seconds"], plan["whole_seconds"])
        for rival in ("data", "chop", "rows"):
            self.assertLessEqual(plans["tofu"]["received_bytes"], plans[rival]["received_bytes"], rival)
            self.assertLessEqual(plans["auto"]["predicted_seconds"], 1.001 * plans[rival]["predicted_seconds"], rival)
        # The weights of the large layers are divided, so that each device has a part of the state.
        whole = json.loads(run(*PLAN, "--format=json").out)
        self.assertLess(plans["tofu"]["persistent_bytes"], 0.3 * whole["persistent_bytes"])
        self.assertGreater(plans["data"]["persistent_bytes"], 0.99 * whole["persistent_bytes"])

    @staticmethod
    def plan(partition):
        return json.loads(run(*PLAN, "--devices=4", "--partition=" + partition, "--format=json").out)

    def test_show_how_layers_are_divided(self):
        told = run(*PLAN, "--devices=2", "--partition=tofu")
        self.assertEqual(0, told.code, told.last)
        for line in (r"Divided among 2 devices \(partition tofu, found in ", r"  received +[\d.]+ MiB   by each device",
                     r"  speed +\d+ %   of 2 times that device's", r"  conv1 +item\n", r"  fc6 +(in|out)\n",
                     r"  loss +item\n", r"  loss/total +whole    a loss is normalized over the whole batch\n"):
            self.assertRegex(told.out, line)

    def test_dump_the_net_of_a_device(self):
        self.assertEqual(0, run(*PLAN, "--devices=2", "--partition=tofu", "--dump=dump").code)
        with open("dump/net.prototxt") as file:
            text = file.read()
        self.assertIn('type: "Exchange"', text)
        self.assertIn("num_output: 4096", text)  # of fc6 or fc7, along the inputs
        self.assertIn("num_output: 2048", text)  # of the other, along the outputs

    def test_fit_a_net_that_one_device_does_not_hold(self):
        budget = "--device_memory=400MiB"
        self.assertEqual(2, run(*PLAN, budget, "--host_memory=0").code)
        self.assertEqual(0, run(*PLAN, budget, "--host_memory=0", "--devices=8").code)

    def test_are_compared_within_the_same_budgets(self):
        budgets = ("640MiB", "2GiB")
        compare = ("compare", *PLAN[1:], "--devices=4", "--format=json")
        found = json.loads(run(*compare, "--device_memory=" + ",".join(budgets)).out)
        self.assertEqual((4, "k80, 4 on a link", None), (found["devices"], found["machine"], found["limit_bytes"]))
        rows = {(row["partition"], row["budget_bytes"] >> 20): row for row in found["plans"]}
        self.assertEqual({(name, size) for name in (*PARTITIONS, "one device") for size in (640, 2048)}, set(rows))
        for (name, size), row in rows.items():
            whole = name == "one device"
            divided = () if whole else ("--devices=4", "--partition=" + name)
            plan = json.loads(run(*PLAN, *divided, f"--device_memory={size}MiB", "--format=json").out)
            self.assertEqual("fits", row["verdict"])
            for key in ("verdict", "total_device_bytes", "host_peak_bytes", "predicted_seconds", "recomputed_ops"):
                self.assertEqual(plan[key], row[key], (name, size, key))
            self.assertEqual(0 if whole else plan["received_bytes"], row["received_bytes"])
            if not whole:
                self.assertEqual(plan["whole_seconds"], found["whole_seconds"])
            self.assertLessEqual(rows["auto", size]["predicted_seconds"], row["predicted_seconds"] + (1e9 if whole else 0))

    def test_are_compared_from_the_smallest_budget_to_that_of_keep(self):
        compare = ("compare", *PLAN[1:], "--devices=2", "--partition=tofu,data")
        found = json.loads(run(*compare, "--format=json", "--report=folder").out)
        for name in ("tofu", "data", "one device"):
            rows = [row for row in found["plans"] if row["partition"] == name]
            self.assertGreater(len(rows), 2)
            bytes_ = [row["total_device_bytes"] for row in rows]
            self.assertEqual(sorted(bytes_), bytes_)
            seconds = [row["predicted_seconds"] for row in rows]
            self.assertLess(seconds[-1], 1.02 * min(seconds))
        self.assertLess(max(row["budget_bytes"] for row in found["plans"]), found["limit_bytes"])
        picture = ElementTree.parse("folder/compare.svg").getroot()
        texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("AlexNet, divided among 2 devices", texts)
        for name in ("tofu", "data", "one device"):
            self.assertIn(name, texts)
        told = run(*compare)
        self.assertEqual(0, told.code)
        self.assertRegex(told.out, r"AlexNet among 2 devices, one iteration by the model of machine k80, 2 on a link\. One device")
        self.assertRegex(told.out, r"\n  tofu +[\d.]+ MiB +[\d.]+ MiB +[\d.]+ .iB +[\d.]+ m?s +\d+ % +[\d.]+ MiB .*  fits\n")

    def test_are_compared_and_none_fits(self):
        told = run("compare", *PLAN[1:], "--devices=2", "--partition=data", "--device_memory=1MiB")
        self.assertEqual(2, told.code)
        least = re.search(r"Nothing fits\. The least of all is (.*) with --device_memory=(\d+)\.\n", told.out)
        divided = () if least[1] == "one device" else ("--devices=2", least[1])
        self.assertEqual(0, run(*PLAN, *divided, "--device_memory=" + least[2]).code)
        self.assertRegex(told.out, r"\n  data +1\.0 MiB .* needs [\d.]+ MiB\n")

    def test_of_any_batch_exist_for_any_number_of_devices(self):
        for batch, devices in ((2, 8), (4, 8), (6, 4), (6, 8), (12, 8), (8, 16), (8, 32)):
            found = run("compare", "--model=" + MODEL, "--synthetic", "--machine=k80", f"--batch={batch}",
                        f"--devices={devices}", "--device_memory=8GiB", "--placement=hybrid", "--format=json")
            self.assertEqual(0, found.code, (batch, devices, found.last))
            self.assertEqual({"fits"}, {row["verdict"] for row in json.loads(found.out)["plans"]})
        lenet = os.path.join(SOURCE, "models/lenet/train_val.prototxt")
        write("lenet.prototxt", f'net: "{lenet}" test_iter: 1 test_interval: 1 base_lr: 0.1 lr_policy: "fixed"')
        for name in PARTITIONS:  # the test net is divided like the training net
            done = run("plan", "--solver=lenet.prototxt", "--devices=4", "--data_shape=1,28,28", "--batch=8",
                       "--partition=" + name)
            self.assertEqual(0, done.code, done.last)

    def test_of_a_net_with_an_unknown_layer_need_its_shape(self):
        write("odd.prototxt", '''
            layer { name: "data" type: "Input" top: "x" input_param { shape { dim: 8 dim: 16 } } }
            layer { name: "odd" type: "Zebra" bottom: "x" top: "y" }
            layer { name: "ip" type: "InnerProduct" bottom: "y" top: "z" inner_product_param { num_output: 8 } }
            layer { name: "loss" type: "Reduction" bottom: "z" top: "loss" loss_weight: 1 }''')
        for command in ("plan", "compare"):
            done = run(command, "--model=odd.prototxt", "--devices=2", "--top_shape=y:8,16")
            self.assertEqual(0, done.code, done.last)

    def test_of_which_none_fits_have_the_smallest_budget_of_all(self):
        args = (*PLAN[1:], "--devices=2", "--device_memory=1MiB")
        least = re.search(r"--device_memory=(\d+)", run("compare", *args).out)[1]
        self.assertEqual(least, str(json.loads(run("plan", *args, "--format=json").out)["smallest_budget_bytes"]))

    def test_refuse_invalid_flags(self):
        for text, *args in (("--partition says how a net is divided: give --devices=2 or more", "--partition=tofu"),
                            ("--partition=zebra: there is no such partition", "--devices=2", "--partition=tofu,zebra"),
                            ("3 devices: a net is divided in halves", "--devices=3")):
            refused = run("compare", *PLAN[1:], *args)
            self.assertEqual(1, refused.code)
            self.assertIn("layrub: " + text, refused.err)
        for text, *args in (("--largest_batch is for one device", "--devices=2", "--largest_batch"), ("3 devices: a net is divided in halves", "--devices=3"),
                            ("0 devices: ", "--devices=0"),
                            ("--partition=zebra: there is no such partition; there are auto, tofu,", "--devices=2", "--partition=zebra"),
                            ("--devices divides one net; --cpu_solvers makes copies", "--devices=2", "--cpu_solvers=2"),
                            ("--partition says how a net is divided: give --devices=2 or more", "--partition=tofu")):
            refused = run(*PLAN, *args)
            self.assertEqual(1, refused.code)
            self.assertIn("layrub: " + text, refused.err)
            self.assertEqual("", refused.out)
        write("solver.prototxt", SOLVER)
        alone = run("train", "--solver=solver.prototxt", "--partition=auto")
        self.assertEqual(1, alone.code)
        self.assertIn("mpirun -np 4 layrub train --partition=auto", alone.err)


def losses(err):
    """The losses and scores in a log, in order."""
    return [float(value) for value in re.findall(r"(?:loss|accuracy) = ([\d.e+-]+)", err)]


class Proofs(DigitsTest):
    """A second program, with rules of its own, proves that the parts of divided nets fit together."""

    @staticmethod
    def dump(model, partition, devices):
        folder = f"{model}_{partition}_{devices}"
        path = f"{SOURCE}/models/{model}/train_val.prototxt"
        net = ("--model=" + write(folder + ".prototxt", SEQUENCES),) if model == "sequences" else ("--model=" + path, "--batch=16")
        told = run("plan", *net, "--synthetic", "--placement=keep", f"--devices={devices}", f"--partition={partition}",
                   f"--dump={folder}")
        assert told.code == 0, told.last
        return folder

    def test_accept_every_partition(self):
        cases = [(model, partition, devices) for model in ("alexnet", "googlenet", "mobilenet_v1", "resnet18", "sequences")
                 for partition in PARTITIONS for devices in (2, 8)]
        for folder in at_once(lambda case: self.dump(*case), cases):
            with self.subTest(folder):
                divided = plan_devices.verify_devices(folder + "/net.prototxt")
                self.assertEqual([], divided.objections)
                self.assertEqual(0, divided.trusted)
                self.assertGreater(divided.proved, 5)

    def test_object_to_every_other_share(self):
        for model, partition in (("alexnet", "tofu"), ("resnet18", "rows"), ("mobilenet_v1", "auto"), ("sequences", "tofu")):
            folder = self.dump(model, partition, 4)
            net = plan_devices.parse(folder + "/net.prototxt")
            tried = 0
            for layout in list(plan_devices.Devices(net).layouts()):
                for level in layout.all("level"):
                    right = level.fields
                    for wrong in ({}, {"part": ["true"]}, {"part_gradient": ["true"]}, {"cut": ["0"]}, {"cut": ["1"]}):
                        if wrong == right:
                            continue
                        level.fields = wrong
                        self.assertTrue(plan_devices.Devices(net).run().objections, f"{folder}: {right} -> {wrong}")
                        tried += 1
                    level.fields = right
            self.assertGreater(tried, 20, folder)

    def test_object_if_an_exchange_is_missing(self):
        for model, partition in (("alexnet", "tofu"), ("resnet18", "auto"), ("sequences", "tofu")):
            folder = self.dump(model, partition, 4)
            net = plan_devices.parse(folder + "/net.prototxt")
            layers = net.all("layer")
            exchanges = [layer for layer in layers if layer.get("type") == "Exchange"]
            self.assertGreater(len(exchanges), 1, folder)
            for exchange in exchanges:
                net.fields["layer"] = [layer for layer in layers if layer is not exchange]
                self.assertTrue(plan_devices.Devices(net).run().objections, exchange.get("name"))

    def test_are_printed_by_verify_plan(self):
        folder = self.dump("alexnet", "tofu", 2)
        files = [f"{folder}/{name}" for name in ("graph.txt", "plan.txt")]
        command = [sys.executable, VERIFY + "/verify_plan.py", f"--devices={folder}/net.prototxt", *files]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(0, told.returncode, told.stdout + told.stderr)
        self.assertRegex(told.stdout, r"2 devices: \d+ layers proved, 0 of other types\n.*: proved, ")
        with open(folder + "/net.prototxt") as file:
            text = file.read()
        write(folder + "/net.prototxt", text.replace("num_output: 2048", "num_output: 4096", 1))
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(1, told.returncode, told.stdout)
        self.assertRegex(told.stdout, r"net.prototxt: layer fc\d: it makes 4096 channels with 2048 filters\n")
        told = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=False).stdout)
        self.assertEqual((2, 1), (told["devices"]["devices"], len(told["devices"]["objections"])))
        for wrong in ("layer {", "", "}", "layer: 3", 'name: "no layers"', 'layer { layout { level { cut: x } } }',
                      'layer { type: "Exchange" layout { level { cut: 0 } } }'):
            write(folder + "/net.prototxt", wrong)
            told = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((1, 1), (told.returncode, len(told.stderr.splitlines())), wrong + told.stderr)


class Processes(RanksTest):
    def same_losses(self, expected, err):
        found = losses(err)
        self.assertEqual(len(expected), len(found), err[-1000:])
        for a, b in zip(expected, found):
            self.assertAlmostEqual(a, b, delta=2e-4 * max(1, abs(a)))

    def test_train_the_same_weights_as_one_process(self):
        write("solver.prototxt", SOLVER + "snapshot: 2")
        one = run("train", "--solver=solver.prototxt", "--threads=1")
        self.assertEqual(0, one.code, one.last)
        expected = losses(one.err)
        self.assertGreater(len(expected), 3)
        for ranks, partition in ((2, "tofu"), (4, "auto"), (2, "data")):
            divided = mpirun(ranks, "train", "--solver=solver.prototxt", "--threads=1", "--partition=" + partition)
            self.assertEqual(0, divided.code, divided.last)
            self.same_losses(expected, divided.err)
            self.assertEqual(1, divided.err.count("Optimization Done.\n") - 1, "one process writes the log")
        # One process resumes from a snapshot of four, and two from a snapshot of one.
        rest = run("train", "--solver=solver.prototxt", "--threads=1", "--snapshot=run_iter_2.solverstate")
        self.assertEqual(0, rest.code, rest.last)
        self.same_losses(losses(rest.err), one.err[one.err.index("Iteration 2 "):])
        rest = mpirun(2, "train", "--solver=solver.prototxt", "--threads=1", "--snapshot=run_iter_2.solverstate",
                      "--partition=tofu")
        self.assertEqual(0, rest.code, rest.last)
        self.same_losses(losses(rest.err), one.err[one.err.index("Iteration 2 "):])

    def test_train_if_no_plan_of_the_whole_net_fits(self):
        write("solver.prototxt", SOLVER)
        budget = self.plan("--solver=solver.prototxt")["state_floor_bytes"] - 1
        tight = ("train", "--solver=solver.prototxt", "--threads=1", "--device_memory=%d" % budget)
        self.assertEqual(2, run(*tight).code)
        divided = mpirun(4, *tight, "--partition=auto", "--measure_memory", "--json_summary=summary.json")
        self.assertEqual(0, divided.code, divided.last)
        with open("summary.json") as file:
            summary = json.load(file)
        self.assertLessEqual(summary["measured_device_bytes"], summary["planned_device_bytes"])
        self.assertLessEqual(summary["planned_device_bytes"], budget)

    def start_divided(self, *args):
        return self.train_on(2, "Iteration 50", *args, "--partition=tofu", "--threads=1")

    def test_end_when_one_is_killed_and_take_a_snapshot_when_one_is_asked_to_stop(self):
        process, pids = self.start_divided()
        os.kill(pids[1], signal.SIGKILL)
        self.assertRegex(self.ends(process, pids, 10), "process rank 1 with PID .* exited on signal 9")
        self.assertNotEqual(0, process.returncode)
        process, pids = self.start_divided()
        os.kill(pids[1], signal.SIGTERM)
        err = self.ends(process, pids, 10)
        self.assertEqual(0, process.returncode, err[-1000:])
        self.assertIn("Optimization stopped early.", err)
        state, = [file for file in os.listdir() if file.endswith(".solverstate")]
        iteration = int(re.search(r"_iter_(\d+)", state).group(1))
        write("rest.prototxt", SOLVER.replace("max_iter: 4", "max_iter: %d" % (iteration + 2)))
        rest = run("train", "--solver=rest.prototxt", "--snapshot=" + state)
        self.assertEqual(0, rest.code, rest.last)

    def test_fail_with_one_sentence(self):
        write("solver.prototxt", SOLVER)
        write("diff.prototxt", SOLVER + "snapshot_diff: true")
        for case in ((1, "snapshot_diff is for nets that are not divided", 2, "train", "--solver=diff.prototxt", "--partition=auto"),
                     (1, "a net is divided in halves", 3, "train", "--solver=solver.prototxt", "--partition=auto"),
                     (1, "there is no such partition", 2, "train", "--solver=solver.prototxt", "--partition=zebra"),
                     (2, "--device_memory=", 2, "train", "--solver=solver.prototxt", "--partition=auto", "--placement=hybrid",
                      "--device_memory=64KiB")):
            self.said_once(case)


if __name__ == "__main__":
    unittest.main()
