#!/usr/bin/env python3
"""`layrub plan --report`: the pictures and the page show the plan, also in a browser."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

import chromium
from command_line import SOURCE, TINY_NET, run, without_onednn, write

NET = "--model=mini_resnet.prototxt"
SVG = "{http://www.w3.org/2000/svg}"
NASTY = "a<b>&\"'</script>"
COLORS = {"parameters": (0, 114, 178), "parameter gradients": (86, 180, 233), "solver history": (132, 147, 168)}


def setUpModule():
    Pages.folder = tempfile.mkdtemp()
    os.chdir(Pages.folder)
    write("mini_resnet.prototxt", without_onednn(f"{SOURCE}/src/caffe/net/test/nets/mini_resnet.prototxt"))
    Pages.plan = plan("report", NET, "--placement=hybrid", "--device_memory=2MiB")


def tearDownModule():
    os.chdir("/")
    shutil.rmtree(Pages.folder)


def plan(folder, *args, code=0):
    """The output of `layrub plan --format=json`."""
    done = run("plan", "--format=json", f"--report={folder}", *args)
    assert done.code == code, done.err
    return json.loads(done.out)


def data(folder="report"):
    """The data in the page."""
    with open(f"{folder}/report.html", encoding="utf-8") as file:
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S)[1])


def nasty_net():
    return TINY_NET.replace('name: "ip"', "name: " + json.dumps(NASTY)).replace('"tiny"', json.dumps("net " + NASTY))


class Pages(unittest.TestCase):
    """Its tests share a report of a small net."""
    folder = plan = None


class Files(Pages):

    def test_the_page_has_the_numbers_of_the_plan(self):
        summary = data()["summary"]
        for key in ("strategy", "device_peak_bytes", "host_peak_bytes", "spill_bytes", "keep_peak_bytes", "floor_bytes", "peak_op"):
            self.assertEqual(self.plan[key], summary[key], key)
        self.assertAlmostEqual(self.plan["predicted_seconds"], summary["predicted_seconds"])
        self.assertEqual(2 << 20, summary["budget_bytes"])
        self.assertRegex(summary["verdict"], r"^Fits: hybrid needs .* of 2\.0 MiB")

    def test_bytes_by_role_at_the_peak_are_those_of_the_plan(self):
        page = data()
        column = next(column for column in page["memory"] if column[1] == page["summary"]["peak_run"])
        roles = ("parameter", "parameter_gradient", "history", "activation", "activation_gradient", "saved", "workspace", "user")
        self.assertEqual([self.plan["breakdown"][role] for role in roles], column[2:])
        self.assertEqual(page["summary"]["peak_bytes"], sum(column[2:]))
        self.assertEqual(page["summary"]["peak_bytes"], max(sum(column[2:]) for column in page["memory"]))

    def test_copies_of_layers_add_up(self):
        rows = data()["layers"]
        self.assertGreater(sum(row[3] for row in rows), 0)
        self.assertEqual(2 * sum(row[3] for row in rows), sum(row[5] for row in rows))  # there and back

    def test_pictures_are_well_formed_and_labelled(self):
        texts = {}
        for name in ("memory", "map"):
            root = xml.parse(f"report/{name}.svg").getroot()
            self.assertEqual(SVG + "svg", root.tag)
            texts[name] = " | ".join(text.text for text in root.iter(SVG + "text"))
        self.assertIn(f"peak 1.26 MiB at {self.plan['peak_op']}", texts["memory"])
        for words in ("keep 5.87 MiB ↑", "floor 834 KiB", "budget 2 MiB", "backward", "activations"):
            self.assertIn(words, texts["memory"])
        for words in ("hybrid: 1.26 MiB device + 1.87 MiB host", f"fullest at {self.plan['peak_op']}", "copies"):
            self.assertIn(words, texts["map"])

    def test_boxes_name_their_tensors_and_arrows_go_both_ways(self):
        root = xml.parse("report/map.svg").getroot()
        titles = [title.text for path in root.iter(SVG + "path") for title in path.iter(SVG + "title")]
        self.assertIn("tail_b[0], 36 KiB", titles)
        copies = {}
        for words in ("off the device", "back to the device"):  # close copies share an arrow, "2 copies"
            ends = [re.match(r"(\d+) copies", title) for title in titles if title.endswith(words)]
            copies[words] = sum(int(end[1]) if end else 1 for end in ends)
        self.assertGreater(copies["off the device"], 0)
        self.assertEqual(copies["off the device"], copies["back to the device"])

    def test_the_trace_is_of_the_predicted_iteration(self):
        with open("report/trace.json", encoding="utf-8") as file:
            names = {event.get("name") for event in json.load(file)["traceEvents"]}
        self.assertIn(self.plan["peak_op"], names)

    def test_the_page_holds_the_pictures(self):
        with open("report/report.html", encoding="utf-8") as file:
            page = file.read()
        for name in ("memory", "map"):
            with open(f"report/{name}.svg", encoding="utf-8") as file:
                self.assertIn(file.read(), page)

    def test_names_are_escaped(self):
        write("nasty.prototxt", nasty_net())
        plan("nasty", "--model=nasty.prototxt", "--placement=keep")
        self.assertIn(NASTY, data("nasty")["layer_names"])
        with open("nasty/report.html", encoding="utf-8") as file:
            self.assertEqual(2, file.read().count("</script>"))
        for name in ("memory", "map"):
            xml.parse(f"nasty/{name}.svg")

    def test_with_test_nets_the_report_has_the_bytes_of_all_nets_and_of_the_training_net(self):
        write("tests.prototxt", TINY_NET)
        write("big.prototxt", TINY_NET.replace("{ dim: 2 ", "{ dim: 5000 "))
        write("solver.prototxt", """train_net: "tests.prototxt" test_net: "big.prototxt" base_lr: 0.1 lr_policy: "fixed"
              max_iter: 2 test_iter: 1 test_interval: 1 solver_mode: CPU snapshot_after_train: false""")
        limit = ["--solver=solver.prototxt", "--placement=keep", "--device_memory=1MiB"]
        planned = plan("planned_tests", *limit)
        self.assertLess(planned["device_peak_bytes"], planned["total_device_bytes"])
        done = run("train", *limit, "--report=trained_tests", "--measure_memory")
        self.assertEqual(0, done.code, done.last)
        for folder in ("planned_tests", "trained_tests"):
            summary = data(folder)["summary"]
            for key in ("device_peak_bytes", "total_device_bytes"):
                self.assertEqual(planned[key], summary[key], key)
            for name in ("memory", "map"):
                title = xml.parse(f"{folder}/{name}.svg").getroot().find(SVG + "title").text
                self.assertIn("tiny, training net", title)
        self.assertLessEqual(summary["measured_device_bytes"], summary["total_device_bytes"])
        self.assertGreater(summary["measured_device_bytes"], summary["device_peak_bytes"])
        self.assertNotIn("training net", xml.parse("report/map.svg").getroot().find(SVG + "title").text)

    def test_names_in_other_encodings_are_escaped(self):
        with open("latin.prototxt", "wb") as file:
            file.write(TINY_NET.replace('name: "ip"', 'name: "\xfc\x01"').encode("latin-1"))
        plan("latin", "--model=latin.prototxt", "--placement=keep")
        for name in ("memory", "map"):
            xml.parse(f"latin/{name}.svg")
        self.assertIn("layers", data("latin"))

    def test_characters_that_xml_does_not_allow_are_replaced(self):
        write("odd.prototxt", TINY_NET.replace('name: "ip"', 'name: "a\ufffeb\uffffc\ufffdd"'))
        plan("odd", "--model=odd.prototxt", "--placement=keep")
        with open("odd/map.svg", encoding="utf-8") as file:
            text = file.read()
        self.assertIn("a\ufffdb\ufffdc\ufffdd[0], ", text)
        self.assertFalse({"\ufffe", "\uffff"} & set(text))

    def test_a_plan_that_does_not_fit_is_shown_as_such(self):
        plan("small", NET, "--placement=hybrid", "--device_memory=1100KiB", code=2)
        self.assertFalse(data("small")["summary"]["fits"])
        self.assertRegex(data("small")["summary"]["verdict"], "^Does not fit: ")

    def test_a_folder_that_cannot_be_made_is_refused_before_the_work(self):
        write("file", "precious")
        for folder in ("file", "file/report", "/proc/report"):
            done = run("plan", NET, f"--report={folder}")
            self.assertEqual(1, done.code)
            self.assertRegex(done.err, r"\Alayrub: --report: cannot make the folder .*\n\Z")
            self.assertEqual("", done.out)
        with open("file", encoding="utf-8") as file:
            self.assertEqual("precious", file.read())
        self.assertRegex(run("plan", NET, "--report=").err, "--report= names no")


@unittest.skipUnless(chromium.PROGRAM or os.environ.get("LAYRUB_REQUIRE_CHROMIUM"),
                     "there is no Chromium here: what the page does in a browser is not tested")
class Browser(Pages):

    @classmethod
    def setUpClass(cls):
        assert chromium.PROGRAM, "LAYRUB_REQUIRE_CHROMIUM is set, but there is no Chromium"
        cls.page = chromium.Chromium()

    @classmethod
    def tearDownClass(cls):
        cls.page.close()

    def open(self, folder="report"):
        self.page.open(f"{folder}/report.html")
        self.assertEqual([], self.page.messages)

    def test_opens_from_a_file_without_console_messages(self):
        self.open()
        page = self.page
        self.assertEqual(1, len(page.requests), page.requests)
        label = page.evaluate("""(() => { const label = document.querySelector('.peak'), box = label.getBoundingClientRect();
            return [label.textContent, box.width, box.left, box.right]; })()""")
        self.assertEqual(f"peak 1.26 MiB at {self.plan['peak_op']}", label[0])
        self.assertGreater(label[1], 50)
        self.assertTrue(0 < label[2] < label[3] < 1200)
        self.assertIn("21 %", page.evaluate("document.getElementById('figures').innerText"))

    def test_names_what_is_under_the_mouse(self):
        self.open()
        page = self.page
        number = next(number for number, tensor in data()["tensors"].items() if tensor[0] == "tail_b[0].grad")
        page.mouse("mouseMoved", *page.middle(f".map [data-t='{number}']"))
        tip = page.evaluate("document.getElementById('tip').innerText")
        for words in ("tail_b[0].grad", "tail_b", "parameter gradients", "36 KiB (36,864)", "operations 0 to 118"):
            self.assertIn(words, tip)
        self.assertEqual(number, page.evaluate("document.querySelector('.hot').dataset.t"))
        page.mouse("mouseMoved", *page.middle(".memory"))
        self.assertRegex(page.evaluate("document.getElementById('tip').innerText"), r"\A\d+: \S+/backward\s+in use\s+\d")
        page.mouse("mouseMoved", *page.middle("h1"))
        self.assertTrue(page.evaluate("document.getElementById('tip').hidden"))
        self.assertEqual([], page.messages)

    def test_sorts_and_finds_layers(self):
        self.open()
        page = self.page
        first = "document.querySelector('tbody tr').innerText.split('\\t')[0]"
        column = "[...document.querySelectorAll('thead button')].find(button => button.innerText === 'Offloaded')"
        self.assertEqual("data", page.evaluate(first))
        page.evaluate(column + ".click()")
        rows, names = data()["layers"], data()["layer_names"]
        self.assertEqual(names[max(rows, key=lambda row: row[3])[0]], page.evaluate(first))
        self.assertEqual("descending", page.evaluate(column + ".parentNode.getAttribute('aria-sort')"))
        page.evaluate(column + ".click()")
        self.assertEqual(names[min(rows, key=lambda row: row[3])[0]], page.evaluate(first))
        page.evaluate("find = document.getElementById('find'), find.value = 'RES4', find.dispatchEvent(new Event('input'))")
        shown = page.evaluate("[...document.querySelectorAll('tbody tr')].map(row => row.innerText.split('\\t')[0])")
        self.assertEqual({name for name in names if "res4" in name}, set(shown))

    def test_shows_how_the_layers_of_a_divided_net_are_cut(self):
        done = plan("divided", NET, "--devices=4", "--partition=tofu", "--machine=k80")
        self.assertEqual("tofu", data("divided")["division"]["partition"])
        self.open("divided")
        figures = self.page.evaluate("document.getElementById('figures').innerText")
        for words in (r"Devices\s+4\s+partition tofu", r"Received\s+\S+ .iB", r"Speed\s+\d+ %"):
            self.assertRegex(figures, words)
        column = "[...document.querySelectorAll('thead button')].find(button => button.innerText === 'Divided')"
        for _ in range(2):
            self.page.evaluate(column + ".click()")
        rows = self.page.evaluate("[...document.querySelectorAll('tbody tr')].map(row => row.innerText.split('\\t'))")
        cuts = [row[1] for row in rows]
        self.assertIn("item, item", cuts)
        self.assertIn("whole, whole", cuts)
        self.assertGreater(done["received_bytes"], 0)
        self.open()  # a net that is not divided has no such column
        self.assertNotIn("Divided", self.page.evaluate("document.querySelector('thead').innerText"))
        self.assertEqual([], self.page.messages)

    def test_zooms_both_pictures_by_dragging_and_back_by_a_double_click(self):
        self.open()
        page = self.page
        x, y = page.middle(".memory")
        page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        page.mouse("mouseMoved", x + 200, y, button="left", buttons=1)
        page.mouse("mouseReleased", x + 200, y, button="left", clickCount=1)
        boxes = page.evaluate("[...document.querySelectorAll('.runs')].map(view => view.getAttribute('viewBox').split(' '))")
        begins = [float(box[0]) for box in boxes]
        self.assertAlmostEqual(119 / 2, begins[0], delta=1)
        self.assertAlmostEqual(begins[0], begins[1])
        self.assertRegex(page.evaluate("document.getElementById('range').innerText"), "operations 59 to [78][0-9] of 119")
        for clicks in (1, 2):
            for kind in ("mousePressed", "mouseReleased"):
                page.mouse(kind, x, y, button="left", buttons=1, clickCount=clicks)
        self.assertEqual("all 119 operations", page.evaluate("document.getElementById('range').innerText"))

    def test_numbers_operations_when_zoomed(self):
        self.open()
        page = self.page
        for begin, end in ((30, 60), (0, 13), (100.5, 104.5), (70, 119)):
            page.evaluate(f"zoomTo({begin}, {end})")
            for view in range(2):
                ticks = page.evaluate(f"""[...views[{view}].ticks.querySelectorAll('text')].map(text =>
                    [Number(text.textContent), (Number(text.getAttribute('x')) - views[{view}].left) / views[{view}].width])""")
                self.assertGreaterEqual(len(ticks), 3, (begin, end))
                for run_, part in ticks:
                    self.assertEqual(int(run_), run_)
                    self.assertAlmostEqual((run_ - begin) / (end - begin), part)
                boxes = sorted(page.evaluate(f"""[...views[{view}].picture.querySelectorAll('text')].filter(text =>
                    text.style.visibility !== 'hidden' && text.getAttribute('y') ===
                    views[{view}].picture.querySelector('[data-run="0"]').getAttribute('y')).map(text => {{
                        const box = text.getBoundingClientRect(); return [box.left, box.right]; }})"""))
                for (_, right), (left, _) in zip(boxes, boxes[1:]):
                    self.assertLess(right, left)
        page.evaluate("zoomTo(0, runs)")
        self.assertEqual(0, page.evaluate("views[0].ticks.children.length + views[1].ticks.children.length"))

    def test_text_can_be_read_on_light_and_dark_screens(self):
        self.open()
        page = self.page
        backgrounds = set()
        for dark in (False, True):
            page.set_dark(dark)
            page.mouse("mouseMoved", *page.middle(".memory"))  # shows the tooltip
            contrasts = page.evaluate(CONTRASTS)
            self.assertGreater(len(contrasts), 100)
            self.assertGreaterEqual(min(contrasts)[0], 4.5, min(contrasts))
            backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(2, len(backgrounds))

    def test_a_screenshot_has_the_colours_of_the_data(self):
        self.open()
        page = self.page
        page.middle(".memory")
        page.evaluate("document.querySelectorAll('svg text').forEach(text => { text.style.display = 'none'; })")
        shares = page.evaluate(SHARES % (json.dumps(page.screenshot_url()), json.dumps(list(COLORS.values()))))
        columns, roles = data()["memory"], data()["roles"]
        bytes_ = [sum(column[2 + roles.index(role)] for column in columns) for role in COLORS]
        self.assertGreater(min(shares), 0.05)  # of the picture
        for share, size in zip(shares, bytes_):
            self.assertAlmostEqual(size / sum(bytes_), share / sum(shares), delta=0.03)

    def test_names_are_shown_unchanged(self):
        write("nasty.prototxt", nasty_net())
        plan("nasty", "--model=nasty.prototxt", "--placement=keep")
        self.open("nasty")
        page = self.page
        self.assertEqual("net " + NASTY, page.evaluate("document.querySelector('h1').innerText"))
        self.assertIn(NASTY, page.evaluate("document.querySelector('tbody').innerText"))

    def test_shows_curves_and_measured_times_after_training(self):
        write("tiny.prototxt", TINY_NET)
        write("solver.prototxt", """net: "tiny.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 20 test_iter: 1
              test_interval: 10 solver_mode: CPU snapshot_after_train: false""")
        done = run("train", "--solver=solver.prototxt", "--placement=hybrid", "--report=trained")
        self.assertEqual(0, done.code, done.last)
        self.open("trained")
        charts = self.page.evaluate("Object.values(Chart.instances).map(chart => [chart.options.plugins.title.text, "
                                    "chart.data.datasets.map(lines => lines.data.map(point => point.y))])")
        drawn = dict(charts)
        self.assertEqual({"Loss", "Test: loss", "Learning rate", "Items per second", "Bytes of the plan"}, set(drawn))
        with open("trained/metrics.jsonl", encoding="utf-8") as file:
            first = next(line for line in map(json.loads, file) if "test" not in line)
        self.assertAlmostEqual(2 / first["seconds"], drawn["Items per second"][0][0])  # of a batch
        self.assertEqual(20, len(drawn["Loss"][0]))
        self.assertLess(drawn["Loss"][0][-1], drawn["Loss"][0][0])
        self.assertAlmostEqual(0.1, drawn["Learning rate"][0][0])
        planned = plan("planned", "--solver=solver.prototxt", "--placement=hybrid")
        self.assertEqual(planned["total_device_bytes"], drawn["Bytes of the plan"][0][-1])
        self.assertIn("Iteration, measured", self.page.evaluate("document.getElementById('figures').innerText"))
        self.assertEqual("Measured", self.page.evaluate("document.querySelector('thead th:last-child').innerText"))
        with open("report/report.html", encoding="utf-8") as file:
            self.assertNotIn("Chart.js", file.read())  # where there is nothing to draw

    def test_a_net_of_1517_layers_is_drawn_with_few_elements_and_its_peak_exact(self):
        script = os.path.join(SOURCE, "models/zoo/generate_model.py")
        subprocess.run([sys.executable, script, "resnet1517", "--out=deep"], check=True, stdout=subprocess.DEVNULL)
        said = plan("deep", "--model=deep/train_val.prototxt", "--batch=32", "--placement=hybrid")
        self.assertLess(os.path.getsize("deep/report.html"), 5e6)
        summary, columns = data("deep")["summary"], data("deep")["memory"]
        self.assertLess(len(columns), len(data("deep")["operations"]["runs"]) / 2)
        self.assertEqual(said["peak_op"], summary["peak_op"])
        self.assertEqual(summary["peak_bytes"], max(sum(column[2:]) for column in columns))
        self.open("deep")  # has so few elements that it is drawn at once
        self.assertLess(self.page.evaluate("document.querySelectorAll('*').length"), 20000)
        self.assertEqual(100, self.page.evaluate("document.querySelectorAll('tbody tr').length"))
        self.assertGreater(self.page.evaluate("document.querySelectorAll('.map path').length"), 5000)


# [contrast, text] of each text with the nearest background behind it, by the formula of WCAG 2.
CONTRASTS = """(() => {
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = element => {
    if (element.closest('svg')) return parse(getComputedStyle(element.closest('.picture').querySelector('.background')).fill);
    for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const texts = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data.trim()).join('');
    if (!own || !element.getClientRects().length || element.closest('script, style, title')) continue;
    const style = getComputedStyle(element);
    const light = luminance(parse(element.closest('svg') ? style.fill : style.color)), dark = luminance(behind(element));
    texts.push([(Math.max(light, dark) + .05) / (Math.min(light, dark) + .05), own]);
  }
  return texts;
})()"""
# The shares of colours in the memory picture of a screenshot.
SHARES = """(async () => {
  const image = new Image();
  image.src = %s;
  await image.decode();
  const box = document.querySelector('.memory').getBoundingClientRect();
  const canvas = new OffscreenCanvas(box.width, box.height), context = canvas.getContext('2d');
  context.drawImage(image, -box.x, -box.y);
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
  return %s.map(color => {
    let count = 0;
    for (let i = 0; i < pixels.length; i += 4) count += color.every((value, j) => pixels[i + j] === value);
    return count / (pixels.length / 4);
  });
})()"""

if __name__ == "__main__":
    unittest.main(verbosity=2)
