#!/usr/bin/env python3
"""The output of `layrub plan`, as text and as JSON, agrees with what `layrub train` does."""
import re
import unittest

from command_line import DigitsTest, SOURCE, nightly, run, write

MIB = 2 ** 20

DIGITS = "--solver=solver.prototxt"
RESNET = f"--model={SOURCE}/models/resnet18/train_val.prototxt"
# All strategies but auto, which may find a smaller plan if it knows a budget.
NOT_SEARCHING = ("keep", "liveness", "intra", "inter", "hybrid", "sqrt", "vdnn_all", "vdnn_all_fast", "vdnn_conv",
                 "vdnn_conv_fast", "vdnn_dyn", "superneurons")
# A net that reads data and allows no other batch than its own.
RIGID = """
layer { name: "data" type: "MemoryData" top: "data" top: "label"
        memory_data_param { batch_size: 4 channels: 1 height: 2 width: 2 } }
layer { name: "lay" type: "Reshape" bottom: "data" top: "rows" reshape_param { shape { dim: 4 dim: 4 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "rows" bottom: "rows" top: "loss" }
"""
DEPLOY = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 8 } } }
layer { name: "fc" type: "InnerProduct" bottom: "data" top: "fc" inner_product_param { num_output: 4 } }
"""


class PlanReport(DigitsTest):

    def text(self, *args, code=0):
        result = run("plan", *args)
        self.assertEqual(code, result.code, result.last)
        for line in result.out.splitlines():
            self.assertLessEqual(len(line), 100, line)
            self.assertEqual(line, line.rstrip())
        return result.out

    def test_the_history_of_every_solver_type_is_counted(self):
        resident = {}
        for kind, more in (("SGD", "momentum: 0.9"), ("AdaGrad", ""), ("AdaDelta", "momentum: 0.95"), ("Adam", "")):
            write("kind.prototxt", """net: "examples/digits/train_test.prototxt" test_iter: 1 test_interval: 4 type: "%s"
                  base_lr: 0.1 lr_policy: "fixed" %s""" % (kind, more))
            resident[kind] = self.plan("--solver=kind.prototxt", "--placement=keep")["persistent_bytes"]
        parameters = resident["SGD"] // 3  # the rest is their gradients and one history
        self.assertEqual(resident["SGD"], resident["AdaGrad"])
        self.assertEqual(resident["Adam"], resident["AdaDelta"])
        self.assertAlmostEqual(parameters, resident["Adam"] - resident["SGD"], delta=0.01 * parameters)

    # Text output.

    def test_the_verdict_comes_first_and_the_answers_last(self):
        text = self.text(RESNET, "--placement=hybrid", "--device_memory=2GiB")
        self.assertRegex(text, r"^Fits: hybrid needs [\d.]+ MiB of 2048.0 MiB device memory\.\n")
        self.assertLess(len(text.splitlines()), 50)
        for line in (r"all kept \(keep\) +[\d.]+ MiB +this plan takes \d+ % of that", r"floor +[\d.]+ MiB",
                     r"host memory +[\d.]+ MiB", r"one iteration +[\d.]+ (ms|s) +[\d.]+ x keep's",
                     r"The peak is at \S+/(forward|backward):", r"  parameters +[\d.]+ MiB +\d+ %  #+",
                     r"  res2a\+res2a_relu +(-|[\d.]+) +(-|[\d.]+) +[\d.]+ ", r"  \.\.\. and \d+ more ", r"  total  ",
                     r"smallest budget +--device_memory=\d+ \([\d.]+ MiB\)", r"largest batch +--batch=\d+ in this budget",
                     r"would help +\S", r"readable +.*loss, of \d+ blobs"):
            self.assertRegex(text, line)

    def test_all_layers_are_shown_on_demand_and_the_rows_add_up(self):
        def numbers(line):
            return [0 if cell == "-" else float(cell) for cell in line.split()[-8:]]

        for more in ([], ["--all_layers"]):
            lines = self.text(RESNET, "--placement=hybrid", *more).splitlines()
            begin = next(i for i, line in enumerate(lines) if line.startswith("Layers")) + 2
            end = next(i for i, line in enumerate(lines) if line.startswith("  total"))
            for i, total in enumerate(numbers(lines[end])[:5]):
                self.assertAlmostEqual(total, sum(numbers(line)[i] for line in lines[begin:end]), delta=0.06 * (end - begin))
            self.assertEqual(bool(more), end - begin > 20)
            self.assertEqual(not more, "--all_layers" in lines[end + 1])

    def test_if_nothing_fits_it_says_what_would(self):
        text = self.text(RESNET, "--placement=keep", "--device_memory=1GiB", code=2)
        self.assertRegex(text, r"^Does not fit: strategy keep needs")
        self.assertRegex(text, r"would help +--placement=\w+ fits, at [\d.]+ x keep's time")
        flat = re.sub(r"\s+", " ", self.text(RESNET, "--placement=hybrid", "--device_memory=1MiB", code=2))
        self.assertRegex(flat, r"no plan works below [\d.]+ MiB: \S+/(forward|backward) alone needs [\d.]+ MiB beside")
        self.assertIn("largest batch none: not even one item", flat)
        self.assertRegex(flat, r"would help --placement=\w+ --device_memory=\d+ is the least of all strategies")

    def test_strategies_that_search_are_among_the_advice(self):
        self.leave_out_onednn()  # its workspace may be larger than all that a search saves
        smallest = self.plan(DIGITS, "--placement=auto", "--device_memory=1")["smallest_budget_bytes"]
        for strategy in ("keep", "hybrid", "superneurons"):
            self.assertGreater(self.plan(DIGITS, "--placement=" + strategy)["smallest_budget_bytes"], smallest)
        text = self.text(DIGITS, "--placement=keep", f"--device_memory={smallest}", code=2)
        self.assertRegex(text, r"would help +--placement=auto fits")

    def test_the_limit_of_host_memory_applies_to_every_answer(self):
        flags = (RESNET, "--placement=hybrid", "--host_memory=1MiB")
        text = self.text(*flags, "--device_memory=2GiB", code=2)
        self.assertIn("smallest budget   none is known with this --host_memory", text)
        self.assertIsNone(self.plan(*flags)["smallest_budget_bytes"])
        flat = re.sub(r"\s+", " ", self.text(*flags, "--device_memory=400MiB", code=2))
        strategy, budget = re.search(r"would help --placement=(\w+) --device_memory=(\d+) is the least", flat).groups()
        fits = self.plan(RESNET, "--placement=" + strategy, "--host_memory=1MiB", f"--device_memory={budget}")
        self.assertEqual("fits", fits["verdict"])

    def test_a_search_reports_the_smallest_budget_of_other_strategies_if_its_own_exceeds_the_host(self):
        flags = (RESNET, "--host_memory=1MiB")
        smallest = self.plan(*flags, "--device_memory=400MiB")["smallest_budget_bytes"]
        self.assertGreater(smallest, self.plan(RESNET)["smallest_budget_bytes"])
        self.assertEqual("fits", self.plan(*flags, f"--device_memory={smallest}")["verdict"])

    def test_no_more_memory_is_advised_than_the_machine_has(self):
        k40 = (RESNET, "--machine=k40")
        self.assertRegex(self.text(*k40, "--device_memory=240MiB"), r"would help +--placement=keep --device_memory=\d+ would")
        text = self.text(*k40, "--device_memory=2200MiB", "--batch=300")
        self.assertRegex(text, r"would help +nothing in this machine's memory: keep, which needs [\d.]+ MiB, would\s+save")

    def test_a_net_without_a_loss_is_noted(self):
        write("deploy.prototxt", DEPLOY)
        self.assertRegex(self.text("--model=deploy.prototxt"), r"note +this net has no loss.*--phase=TEST")
        for flags in (["--model=deploy.prototxt", "--phase=TEST"], [DIGITS]):
            self.assertNotIn("no loss", self.text(*flags))
        text = self.text("--model=deploy.prototxt", "--device_memory=1GiB")
        self.assertIn("largest batch     the net's own", text)

    # JSON output.

    def test_plans_that_fit_are_not_below_the_smallest_budget(self):
        model = f"--model={SOURCE}/src/caffe/net/test/nets/lenet.prototxt"
        told, floor = (self.plan(model)[key] for key in ("smallest_budget_bytes", "floor_bytes"))
        for budget in (told, (told + floor) // 2):  # a search that knows its budget may find a smaller plan
            said = self.plan(model, f"--device_memory={budget}")
            self.assertTrue(budget < told or said["verdict"] == "fits")
            if said["verdict"] == "fits":
                self.assertLessEqual(said["smallest_budget_bytes"], said["total_device_bytes"])

    def test_training_fits_the_smallest_budget_and_not_less(self):
        for strategy in ("keep", "hybrid", "sqrt"):
            place = "--placement=" + strategy
            smallest = self.plan(DIGITS, place)["smallest_budget_bytes"]
            for budget, verdict in ((smallest, "fits"), (smallest - 1, "does_not_fit")):
                said = self.plan(DIGITS, place, f"--device_memory={budget}")
                self.assertEqual((verdict, smallest), (said["verdict"], said["smallest_budget_bytes"]))
            done = run("train", DIGITS, place, f"--device_memory={smallest - 1}")
            self.assertEqual(2, done.code, done.last)
            self.assertIn(f"--device_memory={smallest}", done.last)
            for flags in ([], [f"--device_memory={smallest}"]):
                said = self.plan(DIGITS, place, *flags)
                summary, _ = self.train(place, *flags)
                self.assertEqual(said["total_device_bytes"], summary["planned_device_bytes"])
                self.assertEqual(said["device_peak_bytes"], summary["train_device_bytes"])
                self.assertLessEqual(said["device_peak_bytes"], said["total_device_bytes"])
            self.assertEqual(smallest, summary["planned_device_bytes"])

    def test_the_smallest_budget_in_the_text_fits_and_one_step_less_does_not(self):
        for strategy in NOT_SEARCHING:
            place = "--placement=" + strategy
            pasted = re.search(r"smallest budget +--device_memory=(\d+) ", self.text(DIGITS, place)).group(1)
            self.assertIn("Fits: ", self.text(DIGITS, place, f"--device_memory={pasted}"))
            self.assertIn("Does not fit: ", self.text(DIGITS, place, f"--device_memory={int(pasted) - 256}", code=2))

    def test_the_largest_batch_fits_and_the_next_does_not(self):
        for args in ((DIGITS, "--device_memory=2MiB"), (RESNET, "--device_memory=2GiB"),
                     (RESNET, "--device_memory=2GiB", "--host_memory=1GiB")):
            args += ("--placement=hybrid",)
            batch = self.plan(*args)["largest_batch"]
            self.assertGreater(batch, 1)
            self.assertEqual("fits", self.plan(*args, f"--batch={batch}")["verdict"])
            self.assertEqual("does_not_fit", self.plan(*args, f"--batch={batch + 1}")["verdict"])
        self.assertIsNone(self.plan(RESNET)["largest_batch"])  # there is no budget
        # Blobs may have up to 2^31 - 1 values; a convolution's workspace for one image does not count.
        batch = self.plan(RESNET, "--placement=hybrid", "--device_memory=1TiB")["largest_batch"]
        self.assertEqual((2**31 - 1) // (64 * 112 * 112), batch)

    @nightly
    def test_a_search_finds_the_largest_batch_to_about_one_percent(self):
        for budget in (400 * MIB, 2000 * MIB):
            batch = self.plan(RESNET, f"--device_memory={budget}")["largest_batch"]
            told, beyond = (self.plan(RESNET, f"--batch={items}")["smallest_budget_bytes"]
                            for items in (batch, batch + batch // 50 + 1))
            self.assertLessEqual(told, budget)
            self.assertGreater(beyond, budget)

    def test_a_net_that_allows_only_one_batch_is_planned(self):
        write("rigid.prototxt", RIGID)
        said = self.plan("--model=rigid.prototxt", "--device_memory=1MiB")
        self.assertEqual(("fits", None), (said["verdict"], said["largest_batch"]))

    def test_times_are_predicted_for_the_plan_and_for_keep(self):
        keep, again = (self.plan(RESNET, "--placement=" + name) for name in ("keep", "sqrt"))
        self.assertEqual(keep["predicted_seconds"], keep["keep_seconds"])
        self.assertEqual(keep["keep_seconds"], again["keep_seconds"])
        self.assertGreater(again["predicted_seconds"], again["keep_seconds"])

    def test_a_test_net_alone_is_planned_without_the_training_net(self):
        said = self.plan(DIGITS, "--phase=TEST")
        self.assertEqual(said["device_peak_bytes"], said["total_device_bytes"])
        self.assertNotIn("test nets", self.text(DIGITS, "--phase=TEST"))
        self.assertIn("with test nets", self.text(DIGITS))


if __name__ == "__main__":
    unittest.main(verbosity=2)
