#!/usr/bin/env python3
"""`layrub compare` reports the same as `layrub plan` for each strategy, in the table and in the picture."""
import json
import os
import pty
import re
import subprocess
import unittest
import xml.etree.ElementTree as ET

from command_line import BIN, SOURCE, DigitsTest, run, write

MODEL = "--model=examples/digits/train_test.prototxt"
LENET = (f"--model={SOURCE}/models/lenet/train_val.prototxt", "--data_shape=1,28,28")
RESNET = (f"--model={SOURCE}/models/resnet18/train_val.prototxt", "--data_shape=3,224,224", "--batch=4", "--machine=k40")
FIXED = ("keep", "liveness", "intra", "inter", "hybrid", "sqrt", "vdnn_all", "vdnn_all_fast", "vdnn_conv",
         "vdnn_conv_fast")
SVG = "{http://www.w3.org/2000/svg}"


def size_text(mib):
    return f"{mib / 2 ** 20:.1f} MiB" if mib >= 2 ** 20 else f"{mib / 2 ** 10:.1f} KiB"


class Compare(DigitsTest):

    def compare(self, *args, code=0):
        result = run("compare", "--format=json", *args)
        self.assertEqual(code, result.code, result.last)
        return json.loads(result.out)

    def smallest(self, *args):
        return self.plan(*args)["smallest_budget_bytes"]

    def same_as_plan(self, row, *args):
        if row["budget_bytes"] is not None:
            args = (*args, f"--device_memory={row['budget_bytes']}")
        plan = self.plan(*args, f"--placement={row['strategy']}")
        self.assertEqual(plan["verdict"], row["verdict"], row)
        if plan["verdict"] == "fits":
            for key in ("total_device_bytes", "host_peak_bytes", "predicted_seconds", "recomputed_ops"):
                self.assertEqual(plan[key], row[key], (row, key))
        else:
            self.assertEqual(plan["smallest_budget_bytes"], row["smallest_budget_bytes"], row)
        return plan

    def test_compare_agrees_with_plan_for_every_strategy(self):
        found = self.compare("--solver=solver.prototxt")
        for row in found["plans"]:
            plan = self.same_as_plan(row, "--solver=solver.prototxt")
            self.assertEqual(plan["floor_bytes"], found["floor_bytes"])
            self.assertEqual(plan["state_floor_bytes"], found["state_floor_bytes"])
            self.assertEqual(plan["keep_seconds"], found["keep_seconds"])
        self.assertEqual("cpu", found["machine"])
        keep = [row for row in found["plans"] if row["strategy"] == "keep"]
        self.assertEqual([found["keep_budget_bytes"]], [row["total_device_bytes"] for row in keep])

    def test_a_strategy_that_uses_its_budget_is_tried_in_several(self):
        found = self.compare(*RESNET)
        budgets = {}
        for row in found["plans"]:
            budgets.setdefault(row["strategy"], []).append(row["budget_bytes"])
        self.assertEqual(set(FIXED) | {"vdnn_dyn", "superneurons", "auto"}, set(budgets))
        for strategy, tried in budgets.items():
            self.assertEqual(sorted(set(tried)), tried)
            self.assertGreaterEqual(tried[0], found["state_floor_bytes" if strategy == "auto" else "floor_bytes"])
            self.assertLessEqual(tried[-1], max(tried[0], found["keep_budget_bytes"]))
            if strategy in FIXED:
                self.assertEqual(1, len(tried))
        self.assertGreater(len(budgets["auto"]), 4)
        auto = [row for row in found["plans"] if row["strategy"] == "auto"]
        self.assertEqual(self.smallest(*RESNET, "--placement=auto"), auto[0]["budget_bytes"])
        for row in found["plans"]:
            self.assertLessEqual(row["total_device_bytes"], row["budget_bytes"])
        moving = {row["strategy"]: row for row in found["plans"]}
        self.assertEqual(0, moving["liveness"]["traffic_bytes"])
        self.assertEqual(2 * moving["hybrid"]["host_peak_bytes"], moving["hybrid"]["traffic_bytes"])

    def test_in_given_budgets_each_strategy_fits_or_says_what_it_needs(self):
        keep, hybrid = (self.smallest(*LENET, "--placement=" + strategy) for strategy in ("keep", "hybrid"))
        found = self.compare(*LENET, f"--device_memory={keep},{hybrid},{hybrid}")
        self.assertEqual([hybrid, keep] * 13, [row["budget_bytes"] for row in found["plans"]])
        self.assertEqual({"fits", "does_not_fit"}, {row["verdict"] for row in found["plans"]})
        for row in found["plans"]:
            self.same_as_plan(row, *LENET)

    def test_no_plan_is_faster_than_the_time_floor_nor_smaller_than_the_memory_floor(self):
        found = self.compare(*RESNET)
        floor = found["time_floor"]
        self.assertEqual(found["state_floor_bytes"], floor[0]["budget_bytes"])
        self.assertEqual(sorted(point["budget_bytes"] for point in floor), [point["budget_bytes"] for point in floor])
        self.assertEqual(sorted((point["seconds"] for point in floor), reverse=True), [point["seconds"] for point in floor])
        for row in found["plans"]:
            within = [point["seconds"] for point in floor if point["budget_bytes"] >= row["total_device_bytes"]]
            if within:
                self.assertGreaterEqual(row["predicted_seconds"] * (1 + 1e-9), within[0])

    def test_the_table_has_the_numbers_of_the_json(self):
        found = self.compare(*RESNET)
        result = run("compare", *RESNET)
        lines = result.out.splitlines()
        self.assertRegex(lines[0], r"^ResNet-18, one iteration by the model of machine k40\. Strategy keep takes [\d.]+ MiB and ")
        self.assertIn(size_text(found["floor_bytes"]), lines[1])
        rows = [line for line in lines if line.endswith("  fits")]
        self.assertEqual(len(found["plans"]), len(rows))
        for line, row in zip(rows, found["plans"]):
            relative = row["predicted_seconds"] / found["keep_seconds"]
            self.assertRegex(line, rf"^  {row['strategy']} +{size_text(row['budget_bytes'])} +{size_text(row['total_device_bytes'])} ")
            self.assertRegex(line, rf"m?s +{relative:.2f} ")

    def test_if_nothing_fits_it_exits_with_2_and_names_the_smallest_budget(self):
        result = run("compare", *LENET, "--device_memory=1KiB")
        self.assertEqual(2, result.code)
        strategy, budget = re.search(r"Nothing fits\. The least of all is --placement=(\w+) --device_memory=(\d+)\.",
                                     result.out).groups()
        self.assertEqual("fits", self.plan(*LENET, f"--placement={strategy}", f"--device_memory={budget}")["verdict"])
        self.assertEqual(13, result.out.count("  needs "))

    def test_the_limit_of_host_memory_is_respected(self):
        found = self.compare(*LENET, "--host_memory=0")
        verdicts = {row["strategy"]: row["verdict"] for row in found["plans"]}
        self.assertEqual(("does_not_fit", "fits"), (verdicts["inter"], verdicts["auto"]))
        self.assertIsNone(next(row for row in found["plans"] if row["strategy"] == "inter")["smallest_budget_bytes"])
        for row in found["plans"]:
            self.assertEqual(0, row.get("host_peak_bytes", 0))

    def picture(self, *args):
        code = run("compare", *args, "--report=folder").code
        self.assertIn(code, (0, 2))
        self.assertEqual(["compare.svg"], os.listdir("folder"))
        return ET.parse("folder/compare.svg").getroot()

    def marks(self, picture):
        titles = [path.find(SVG + "title").text for path in picture.iter(SVG + "path")
                  if "point" in path.get("class", "").split()]
        return sorted(title.split(":")[0] for title in titles)

    def test_the_picture_has_a_mark_and_a_name_for_each_strategy_that_fits(self):
        hybrid = self.smallest(*LENET, "--placement=hybrid")
        for args in (LENET, RESNET, (*LENET, f"--device_memory={hybrid}"), (*LENET, "--device_memory=1KiB")):
            found = self.compare(*args, code=2 if "1KiB" in args[-1] else 0)
            fitting = sorted({row["strategy"] for row in found["plans"] if row["verdict"] == "fits"})
            picture = self.picture(*args)
            self.assertEqual(fitting, self.marks(picture))
            texts = ", ".join(text.text for text in picture.iter(SVG + "text"))
            for strategy in fitting:
                self.assertRegex(texts, rf"\b{strategy}\b")
            self.assertIn("state floor", texts)
            self.assertIn("time floor", texts)
            self.assertEqual("keep" not in fitting, "keep: does not fit" in texts)

    def test_labels_of_the_picture_do_not_overlap(self):
        for args in (LENET, RESNET):
            boxes = []
            for text in self.picture(*args).iter(SVG + "text"):
                if text.get("class") != "label":
                    continue
                width = 6 * len(text.text)
                left = float(text.get("x")) - {None: 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
                boxes.append((left, float(text.get("y")), left + width, text.text))
            self.assertGreater(len(boxes), 3)
            for i, (left, y, right, _) in enumerate(boxes):
                self.assertTrue(left >= 50 and right <= 850, boxes[i])
                for other in boxes[:i]:
                    apart = abs(other[1] - y) >= 12 or other[0] >= right or left >= other[2]
                    self.assertTrue(apart, (boxes[i], other))

    def test_names_of_nets_are_escaped_in_the_picture(self):
        write("odd.prototxt", """name: "<b>&\\"odd\\""
              layer { name: "data" type: "DummyData" top: "x" dummy_data_param { shape { dim: 2 dim: 8 } } }
              layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 4 } }
              layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }""")
        texts = [text.text for text in self.picture("--model=odd.prototxt").iter(SVG + "text")]
        self.assertTrue(any('<b>&"odd"' in text for text in texts), texts)

    def test_progress_is_shown_on_a_terminal_and_not_in_a_pipe(self):
        said, terminal = pty.openpty()
        command = [os.path.join(BIN, "layrub"), "compare", *RESNET]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=dict(os.environ, TERM="xterm")) as program:
            os.close(terminal)
            shown = b""
            try:
                while chunk := os.read(said, 4096):
                    shown += chunk
            except OSError:  # the program has closed the other end
                pass
            os.close(said)
            table = program.stdout.read().decode()
        self.assertEqual(0, program.returncode)
        self.assertRegex(shown.decode(), r"(smallest budgets|plans|time floor): \d+ of \d+")
        piped = run("compare", *RESNET)
        self.assertEqual("", piped.err)
        self.assertEqual(table, piped.out)

    def test_invalid_flags_are_refused_in_a_sentence(self):
        self.fails(run("compare"), "'compare' needs --model=FILE or --solver=FILE")
        self.fails(run("compare", MODEL, "--device_memory=1GiB,much"), "--device_memory: 'much' is not a size")
        self.fails(run("compare", MODEL, "--device_memory=1GiB,"), "--device_memory: '' is not a size")
        self.fails(run("compare", MODEL, "--report="), "--report= names no file")
        write("file", "")
        self.fails(run("compare", MODEL, "--report=file"), "--report: .*file")
        write("bad.prototxt", 'placement { strategy: "best" } layer { name: "x" type: "Input" top: "x" }')
        self.fails(run("compare", "--model=bad.prototxt"), "no placement strategy 'best'; there are keep")


if __name__ == "__main__":
    unittest.main(verbosity=2)
