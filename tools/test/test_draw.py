#!/usr/bin/env python3
"""`layrub draw` draws boxes where the plan places the tensors, and names bad input."""
import os
import re
import resource
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

from command_line import BIN, SOURCE, run, write

sys.path.insert(0, os.path.join(SOURCE, "tools/verify"))
import test_verify_parts  # noqa: E402
from test_verify_plan import AGAIN, GRAPH, STEPS, plan_text  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
DEVICE = 320  # pixels; boxes of the host are below
BOX = re.compile(r"M(\d+) ([\d.]+)h(\d+)v([\d.]+)h-\d+z")


def boxes(path, look="", host=False):
    """Name and size -> [(begin, end, y, height)] in one tier, for groups with the class `look`."""
    found = {}
    for group in xml.parse(path).getroot().iter(SVG + "g"):
        if look not in group.get("class") or "copy" in group.get("class"):
            continue
        for element in group.iter(SVG + "path"):
            begin, y, width, height = map(float, BOX.fullmatch(element.get("d")).groups())
            if (y > DEVICE) == host:
                found.setdefault(element.find(SVG + "title").text, []).append((begin, begin + width, y, height))
    return found


def texts(path):
    return [text.text for text in xml.parse(path).getroot().iter(SVG + "text")]


class Draw(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, "/")
        os.chdir(folder.name)
        write("graph.txt", GRAPH)
        write("plan.txt", plan_text(STEPS))

    def draw(self, *plans, graph="graph.txt"):
        done = run("draw", graph, *(plans or ["plan.txt"]), "--output=out.svg")
        self.assertEqual((0, "", ""), (done.code, done.out, done.err))
        return "out.svg"

    def test_finds_when_each_tensor_holds_and_uses_its_bytes(self):
        drawn = self.draw()
        times = {name.split(",")[0]: [box[:2] for box in found] for name, found in boxes(drawn).items()}
        # Operations: data 0, conv 1, relu 2, loss 3, loss/backward 4, relu/backward 5, conv/backward 6, update 7.
        self.assertEqual(times["w"], [(0, 8)])
        # x is on the device until it is freed after its copy to the host, and is back for conv/backward.
        self.assertEqual(times["x"], [(0, 3), (6, 7)])
        # a ends where b takes over its bytes.
        self.assertEqual(times["a"], [(1, 2)])
        self.assertEqual(times["b"], [(2, 6)])
        self.assertEqual(times["work"], [(1, 2)])
        self.assertEqual(times["b.grad"], [(4, 5)])
        self.assertEqual(times["a.grad"], [(5, 7)])
        # The loss is to be readable.
        self.assertEqual(times["loss"], [(3, 8)])
        self.assertEqual([(2, 7)], sorted((found[0][0], found[-1][1]) for found in boxes(drawn, host=True).values()))
        self.assertEqual({}, boxes(drawn, "idle"))

    def test_every_role_has_a_colour(self):
        with open(self.draw()) as file:
            picture = file.read()
        roles = {look.split()[0] for look in re.findall(r'<rect[^>]* class="([^"]+)"', picture)}
        self.assertIn("workspace", roles)
        for role in roles:
            self.assertRegex(picture, rf"\.picture \.{role}\b[^}}]*fill:")

    def test_draws_the_resident_part_of_a_partly_evicted_tensor(self):
        def stays_of_x(steps, device):
            write("graph.txt", test_verify_parts.GRAPH)
            write("plan.txt", test_verify_parts.plan_text(steps, device=device))
            found = []
            for title, places in boxes(self.draw()).items():
                size = {"x, 1000 bytes": 1000, "x, 256 bytes of 1000 bytes": 256, "x, 512 bytes of 1000 bytes": 512}.get(title)
                for begin, end, y, height in places if size else ():
                    self.assertAlmostEqual(DEVICE * size / device, height, delta=0.02)
                    found.append((begin, end, round((DEVICE - y - height) * device / DEVICE), size))
            return sorted(found)

        # Operations: first 0, second 1, third 2, fourth 3.
        parts = stays_of_x(test_verify_parts.STEPS, 1536)
        self.assertEqual([(0, 1), (1, 3), (3, 4)], [place[:2] for place in parts])
        self.assertEqual({(256, 1000), (256, 256)}, {place[2:] for place in parts})
        moved = stays_of_x(test_verify_parts.moved(), 1792)
        self.assertEqual({(512, 1000), (256, 512), (256, 1000)}, {place[2:] for place in moved})

    def test_finds_passes_and_the_peak(self):
        said = texts(self.draw())
        for words in ("0", "4", "7", "8", "forward", "backward", "update", "fullest at conv", "copies"):
            self.assertIn(words, said)
        self.assertIn("hand: 1.75 KiB device + 512 bytes host", said)

    def test_draws_boxes_to_scale(self):
        found = boxes(self.draw())
        _, _, top, height = found["a, 512 bytes"][0]
        self.assertAlmostEqual(DEVICE * 512 / 1792, height, delta=0.02)
        self.assertAlmostEqual(found["x, 500 bytes"][0][2] + found["x, 500 bytes"][0][3] - top - height, height,
                               delta=0.02)  # x is at 512, a at 1024

    def test_marks_recomputed_tensors(self):
        write("again.txt", plan_text(AGAIN, device=2304))
        drawn = self.draw("again.txt")
        self.assertEqual(["a, 512 bytes", "b, 512 bytes"], sorted(boxes(drawn, "again")))
        self.assertIn("dashed: computed again", texts(drawn))
        self.assertNotIn("dashed: computed again", texts(self.draw()))

    def test_draws_several_plans_on_one_scale(self):
        write("other.txt", plan_text(STEPS, device=3584))
        found = boxes(self.draw("plan.txt", "other.txt"))["a, 512 bytes"]
        self.assertEqual(2, len(found))
        for box in found:
            self.assertAlmostEqual(DEVICE * 512 / 3584, box[3], delta=0.02)

    def test_joins_boxes_that_are_too_small_to_tell_apart(self):
        count = 5000
        names = [f"w{i}" for i in range(count)]
        write("graph.txt", "layrub-graph 4\ngraph many\n" + "".join(f"tensor {name} 256 parameter state\n" for name in names) +
              "op run forward compute\nvariant f flops=1 bytes=1\nreads " + " ".join(names) + "\nend\n")
        homes = "".join(f"home {name} device {256 * i}\n" for i, name in enumerate(names))
        write("plan.txt", f"layrub-plan 5\nstrategy hand\ndevice_bytes {256 * count}\nhost_bytes 0\nspill_bytes 0\n"
              f"pass_end 1 1 1\nreadable\n{homes}0 run run variant=0 algorithm=0\nend\n")
        found = boxes(self.draw())
        self.assertLess(len(found), 2 * DEVICE)
        joined = [re.fullmatch(r"(\d+) tensors, .*", title) for title in found for _ in found[title]]
        self.assertEqual(count, sum(int(match[1]) for match in joined))
        self.assertAlmostEqual(DEVICE, sum(box[3] for places in found.values() for box in places), delta=3)

    def test_counts_a_tensor_with_several_joined_boxes_once(self):
        big = 1 << 20
        write("graph.txt", f"layrub-graph 4\ngraph small\ntensor p 256 parameter state\ntensor a 256 activation\n"
              f"tensor big {big} parameter state\n"
              "op one forward compute\nvariant f flops=1 bytes=1\nreads p big\nwrites a\n"
              "op two forward compute\nvariant f flops=1 bytes=1\nreads p big\nend\n")
        # The first operation writes a; then a is held but not in use.
        steps = ["alloc device a 256", "run one variant=0 algorithm=0", "run two variant=0 algorithm=0", "free device a"]
        write("plan.txt", f"layrub-plan 5\nstrategy hand\ndevice_bytes {big + 512}\nhost_bytes 0\nspill_bytes 0\npass_end 4 4 4\nreadable\n" +
              "home p device 0\nhome big device 512\n" +
              "".join(f"{i} {step}\n" for i, step in enumerate(steps)) + "end\n")
        self.assertEqual({"big, 1 MiB", "2 tensors, 512 bytes"}, set(boxes(self.draw())))

    def test_refuses_more_plans_than_fit_side_by_side(self):
        for count in (18, 19, 27, 40):
            done = run("draw", "graph.txt", *["plan.txt"] * count, "--output=out.svg")
            if count == 18:
                self.assertEqual(0, done.code, done.err)
                widths = [float(view.get("width")) for view in xml.parse("out.svg").getroot().iter(SVG + "svg")][1:]
                self.assertEqual(count, len(widths))
                self.assertGreater(min(widths), 10)
                os.remove("out.svg")
                continue
            self.assertEqual(1, done.code)
            self.assertRegex(done.err, rf"\Alayrub: .*room for 18 plans side by side, not {count}: .*\n\Z")
            self.assertFalse(os.path.exists("out.svg"))

    def test_help_shows_how_to_make_the_input(self):
        self.assertIn("--dump=", run("draw", "--help").out)

    def test_names_wrong_files_and_flags(self):
        write("stranger.txt", plan_text(STEPS).replace("alloc device a ", "alloc device z "))
        write("freed.txt", plan_text(STEPS[:2] + ["free device w"] + STEPS[2:]))
        for arguments, words in ((("graph.txt", "graph.txt"), r"graph\.txt: line 1: "),
                                 (("graph.txt", "stranger.txt"), r"stranger\.txt: line \d+: .*\bz\b"),
                                 (("graph.txt", "freed.txt"), r"freed\.txt is not a plan that can run: .*\bw\b"),
                                 (("graph.txt", "none"), r"File not found: none"),
                                 (("graph.txt",), r"usage: layrub draw GRAPH\.txt PLAN\.txt \.\.\.")):
            done = run("draw", *arguments, "--output=out.svg")
            self.assertEqual(1, done.code, arguments)
            self.assertRegex(done.err, rf"\Alayrub: {words}.*\n\Z")
            self.assertFalse(os.path.exists("out.svg"))
        self.assertRegex(run("draw", "graph.txt", "plan.txt").err, r"\Alayrub: 'draw' needs --output=FILE.*\n\Z")
        done = run("draw", "graph.txt", "plan.txt", "--output=plan.PNG")
        self.assertEqual(1, done.code)
        self.assertRegex(done.err, r"\Alayrub: --output=plan.PNG: 'draw' writes an SVG; name it plan.svg .*\n\Z")
        self.assertFalse(os.path.exists("plan.PNG"))

    def test_a_picture_is_replaced_completely_or_not_at_all(self):
        write("out.svg", "precious")
        before = sorted(os.listdir())

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))  # stands in for a full disk

        command = [os.path.join(BIN, "layrub"), "draw", "graph.txt", "plan.txt"]
        done = subprocess.run([*command, "--output=out.svg"], capture_output=True, text=True, check=False,
                              preexec_fn=small_files)
        self.assertEqual(1, done.returncode)
        self.assertIn("out.svg", done.stderr)
        with open("out.svg", encoding="utf-8") as file:
            self.assertEqual("precious", file.read())
        self.assertEqual(before, sorted(os.listdir()))
        done = subprocess.run([*command, "--output=/dev/stdout"], capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("</svg>", done.stdout)


if __name__ == "__main__":
    unittest.main()
