#!/usr/bin/env python3
"""trace.json of --report: lanes, copies, counters and times, checked by this script and, if it is on PATH, by
Perfetto's trace processor."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import unittest

from command_line import SOLVER, DigitsTest, run, write

LANES = ["compute", "save", "load", "data"]
MODEL = "--model=examples/digits/train_test.prototxt"


class Trace:
    """One process of a trace in Chrome's format: spans of each lane, values of each counter."""

    def __init__(self, events, process):
        names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.pid = {name: pid for pid, name in names.items()}[process]
        own = [event for event in events if event["pid"] == self.pid]
        threads = {event["tid"]: event["args"]["name"] for event in own if event["name"] == "thread_name"}
        self.lanes = {name: [] for name in threads.values()}
        for event in own:
            if event["ph"] == "X":
                self.lanes[threads[event["tid"]]].append(event)
        self.counters = {}
        for event in own:
            if event["ph"] == "C":
                self.counters.setdefault(event["name"], []).append((event["ts"], event["args"]["value"]))

    def spans(self):
        return [span for lane in self.lanes.values() for span in lane]

    def bytes(self, lane):
        return sum(span["args"]["bytes"] for span in self.lanes[lane])

    def end(self):
        return max(span["ts"] + span["dur"] for span in self.spans())


class Traces(DigitsTest):
    layers = ("digits", "label_digits_1_split", "conv1", "relu1", "pool1", "conv2", "relu2", "pool2", "ip1", "relu3", "ip2",
              "ip2_ip2_0_split", "accuracy", "loss", "loss/total")

    def read(self, folder="report"):
        with open(f"{folder}/trace.json") as file:
            return json.load(file)["traceEvents"]

    def holds_together(self, trace):
        self.assertEqual(LANES, list(trace.lanes))
        for name, spans in trace.lanes.items():
            end = -1
            for span in sorted(spans, key=lambda span: (span["ts"], span["dur"])):
                self.assertGreaterEqual(span["dur"], 0)
                self.assertGreaterEqual(span["ts"], end - 1e-6, f"{span['name']} overlaps another one of lane {name}")
                end = span["ts"] + span["dur"]
                self.assertTrue(span["name"])
                self.assertGreaterEqual(span["args"]["bytes"], 0)
        for span in trace.lanes["compute"]:
            if span["cat"] != "move":
                layer = re.sub(r"(\[\d+\])?/(forward|backward|zero|update)$", "", span["name"])
                layer = re.sub(r"/(\d+of|cut_into_|join_of_)\d+(?=$|\+)", "", layer)  # of slices
                self.assertEqual(layer, span["args"]["layer"])
            self.assertIn(span["args"]["layer"], self.layers)
        for values in trace.counters.values():
            times = [time for time, _ in values]
            self.assertEqual(sorted(times), times)
        steps = [span["args"]["step"] for span in trace.spans()]
        self.assertEqual(len(steps), len(set(steps)))

    def test_the_trace_of_a_plan_has_the_predicted_times(self):
        plans = [("hybrid", 0), ("inter", 0), ("keep", 0), ("auto", 1.02)]
        for strategy, part in plans:
            flags = [MODEL, "--placement=" + strategy, "--report=report", "--dump=dump", "--format=json",
                     "--machine=k40"]
            if part:
                least = self.plan(MODEL, "--machine=k40", "--device_memory=1GiB")["smallest_budget_bytes"]
                flags.append(f"--device_memory={int(least * part)}")
            result = run("plan", *flags)
            self.assertEqual(0, result.code, result.last)
            plan = json.loads(result.out)
            events = self.read()
            self.assertEqual({"predicted"}, {e["args"]["name"] for e in events if e["name"] == "process_name"})
            trace = Trace(events, "predicted")
            self.holds_together(trace)
            self.assertAlmostEqual(plan["predicted_seconds"] * 1e6, trace.end(), 2)
            # The peak is at an operation. Steps that only move values have at most as many live bytes as the arena.
            peak = plan["device_peak_bytes"] - plan["breakdown"]["unused"]
            at_ops = max(value for _, value in trace.counters["device bytes"])
            self.assertLessEqual(peak, at_ops)
            self.assertLessEqual(at_ops, plan["device_peak_bytes"])
            if not any(span["cat"] == "move" for span in trace.spans()):
                self.assertEqual(peak, at_ops)
            self.assertLessEqual(max(value for _, value in trace.counters["host bytes"]), plan["host_peak_bytes"])
            with open("dump/graph.txt") as file:
                kind_of = {line.split()[1]: line.split()[3] for line in file if line.startswith("op ")}
            with open("dump/plan.txt") as file:
                steps = [line.split()[1:] for line in file if line[:1].isdigit()]
            copies = {("device", "host"): "offload", ("host", "device"): "prefetch", ("device", "device"): "move"}
            kinds = [copies[tuple(words[1:3])] for words in steps if words[0] == "copy"]
            kinds += ["recompute" if words[-1] == "again" else kind_of[words[1]] for words in steps if words[0] == "run"]
            for lane, kind in (("save", "offload"), ("load", "prefetch"), ("data", "feed")):
                self.assertEqual(kinds.count(kind), len(trace.lanes[lane]), kind)
            on_compute = [kind for kind in kinds if kind not in ("offload", "prefetch", "feed")]
            self.assertEqual(sorted(on_compute), sorted(span["cat"] for span in trace.lanes["compute"]))
            if strategy in ("hybrid", "inter"):
                self.assertGreater(trace.bytes("save"), 0)

    def train(self, *flags):
        write("solver.prototxt", SOLVER.replace("display: 2\n", ""))
        return super().train("--deterministic", "--report=report", "--placement=hybrid", *flags)[0]

    def test_training_adds_measured_times_of_the_same_plan(self):
        summary = self.train()
        events = self.read()
        predicted, measured = Trace(events, "predicted"), Trace(events, "measured")
        for trace in (predicted, measured):
            self.holds_together(trace)
            self.assertEqual(summary["bytes_offloaded"], 4 * trace.bytes("save"))
            self.assertEqual(summary["bytes_prefetched"], 4 * (trace.bytes("load") + trace.bytes("data")))
        self.assertAlmostEqual(summary["predicted_seconds"] * 1e6, predicted.end(), 2)
        self.assertEqual({span["args"]["step"]: span["name"] for span in predicted.spans()},
                         {span["args"]["step"]: span["name"] for span in measured.spans()})
        self.assertEqual(*({value for _, value in trace.counters["device bytes"]} for trace in (predicted, measured)))
        self.assertLess(measured.end(), summary["seconds"] * 1e6)

    def test_perfetto_reads_the_same_events(self):
        processor = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
        if not processor:
            self.skipTest("there is no trace_processor_shell on PATH")
        self.train()
        events = self.read()
        for process in ("predicted", "measured"):
            trace = Trace(events, process)
            rows = self.query(processor, f"""
                select thread.name as lane, count(*) as spans, sum(dur) as ns,
                       sum(extract_arg(slice.arg_set_id, 'args.bytes')) as bytes
                from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
                     join process using (upid) where process.name = '{process}' group by lane""")
            self.assertEqual({lane: len(spans) for lane, spans in trace.lanes.items() if spans},
                             {row["lane"]: int(row["spans"]) for row in rows})
            for row in rows:
                self.assertEqual(trace.bytes(row["lane"]), int(row["bytes"]))
                microseconds = sum(span["dur"] for span in trace.lanes[row["lane"]])
                self.assertAlmostEqual(microseconds * 1000, int(row["ns"]), delta=100)
            rows = self.query(processor, f"""
                select process_counter_track.name as name, max(value) as most from counter
                join process_counter_track on counter.track_id = process_counter_track.id
                join process using (upid) where process.name = '{process}' group by 1""")
            self.assertEqual({name: max(value for _, value in values) for name, values in trace.counters.items()},
                             {row["name"]: int(float(row["most"])) for row in rows})

    def query(self, processor, sql):
        write("query.sql", sql)
        done = subprocess.run([processor, "-q", "query.sql", "report/trace.json"], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(0, done.returncode, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
