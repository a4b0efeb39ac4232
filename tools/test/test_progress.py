#!/usr/bin/env python3
"""What a terminal shows while the program works: one progress line below the log, which is erased at the end."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unittest
import unittest.mock

from command_line import BIN, SOLVER, SOURCE, TINY_NET, DigitsTest, run, write

COLUMNS = 100
PREFIX = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ")
# What differs from run to run.
VARYING = [(PREFIX, ""), (re.compile(r"\([\d.e+-]+ iter/s, [\d.e+-]+s/"), "(")]
TINY_SOLVER = 'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: %d snapshot_prefix: "run" ' \
              "snapshot_after_train: false solver_mode: CPU random_seed: 1\n"


class Screen:
    """A terminal that understands what the program writes: text, line feeds, carriage returns and ESC [ K."""

    def __init__(self):
        self.lines, self.column, self.rest = [""], 0, ""

    def write(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                if len(text) - at < 3:
                    self.rest = text[at:]
                    return
                assert text[at:at + 3] == "\x1b[K", repr(text[at:at + 8])
                self.lines[-1] = self.lines[-1][:self.column]
                at += 3
                continue
            if text[at] == "\n":
                self.lines.append("")
                self.column = 0
            elif text[at] == "\r":
                self.column = 0
            else:
                line = self.lines[-1]
                self.lines[-1] = line[:self.column] + text[at] + line[self.column + 1:]
                self.column += 1
            at += 1


class OnTerminal:
    """The program in its own terminal, which gets all output and sends Ctrl-C."""

    def __init__(self, *args, term="xterm", environment=None):
        self.raw, self.screen = "", Screen()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
            modes = termios.tcgetattr(2)
            modes[3] |= termios.NOFLSH  # Ctrl-C does not discard output that the test has not read yet
            termios.tcsetattr(2, termios.TCSANOW, modes)
            os.execve(os.path.join(BIN, "layrub"), ["layrub", *args],
                      environment or dict(os.environ, TERM=term, GLOG_log_dir=os.getcwd(), OPENBLAS_NUM_THREADS="1"))
        self.process = self.pid

    def read(self, until=None, seconds=60):
        """Reads to the end, or until `until` is on the bottom line."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.terminal], [], [], 0.5)[0]:
                continue
            try:
                piece = os.read(self.terminal, 256).decode()
            except OSError:  # no process can write any more
                return None
            self.raw += piece
            self.screen.write(piece)
            found = until and re.search(until, self.screen.lines[-1])
            if found:
                return found
        raise AssertionError(f"{seconds} seconds without {until or 'an end'}: {self.raw[-1500:]!r}")

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.terminal)

    def press_ctrl_c(self):
        os.write(self.terminal, b"\x03")

    def await_signal_handler(self):
        """Waits until no SIGINT is pending."""
        for _ in range(6000):
            with open(f"/proc/{self.pid}/status") as file:
                pending = re.findall(r"(?:SigPnd|ShdPnd):\t(\w+)", file.read())
            if not any(int(mask, 16) >> (signal.SIGINT - 1) & 1 for mask in pending):
                return
            time.sleep(0.01)
        raise AssertionError("SIGINT is pending for a minute")

    def end(self):
        """The exit status of the program, and what is left on the screen."""
        self.read()
        _, status = os.waitpid(self.pid, 0)
        os.close(self.terminal)
        self.pid = None
        return os.waitstatus_to_exitcode(status), self.screen.lines

    def shown(self):
        """All texts that were on the progress line."""
        texts = [re.split(r"[\r\n\x1b]", text)[0] for text in self.raw.split("\r\x1b[K")[1:]]
        return [text for text in texts if text and not PREFIX.match(text)]


def steady(lines):
    """Lines of a log without what differs from run to run. A thread that reads ahead may get further, or not."""
    lines = [line for line in lines if not line.endswith("Restarting data prefetching from start.")]
    for pattern, replacement in VARYING:
        lines = [pattern.sub(replacement, line) for line in lines]
    return lines


class Progress(DigitsTest):

    def start(self, *args, **kwargs):
        program = OnTerminal(*args, **kwargs)
        self.addCleanup(program.kill)
        return program

    def ends_like_a_pipe(self, *args):
        """Checks that the program leaves on a terminal the same lines as in a pipe. Returns the progress lines."""
        # as on the terminal, because sums depend on it
        with unittest.mock.patch.dict(os.environ, OPENBLAS_NUM_THREADS="1"):
            piped = run(*args)
        self.assertEqual(0, piped.code, piped.last)
        self.assertNotIn("\r", piped.err + piped.out)
        self.assertNotIn("\x1b", piped.err + piped.out)
        program = self.start(*args)
        code, lines = program.end()
        self.assertEqual(0, code)
        # The two streams share the terminal: the order between them is free.
        self.assertEqual(sorted(steady((piped.err + piped.out).splitlines())), sorted(steady(lines[:-1])))
        self.assertEqual("", lines[-1])
        shown = program.shown()
        self.assertLess(max(map(len, shown), default=0), COLUMNS)
        return shown

    def test_training_shows_progress_below_its_log(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 200").replace(
            "test_interval: 4", "test_interval: 50").replace("display: 2", "display: 20"))
        shown = self.ends_like_a_pipe("train", "--solver=solver.prototxt", "--deterministic", "--device_memory=64MiB")
        self.assertRegex(shown[0], r"^(iteration 0 of 200, [\d.]+ of 64\.0 MiB|testing net 0: batch 1 of 1)$")

    def test_training_shows_its_rate_and_its_use_of_the_budget(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 100000000").replace(
            "test_interval: 4", "test_interval: 100000000").replace("display: 2", "display: 0"))
        program = self.start("train", "--solver=solver.prototxt", "--device_memory=64MiB")
        program.read(until=r"^iteration \d+ of 100000000, loss [\d.e+-]+, [\d.]+ images/s, \w+ left, [\d.]+ of 64\.0 MiB$")

    def test_a_test_of_training_shows_its_batches(self):
        write("solver.prototxt", SOLVER.replace("test_iter: 1", "test_iter: 300"))
        shown = self.ends_like_a_pipe("train", "--solver=solver.prototxt", "--deterministic")
        self.assertRegex("\n".join(shown), r"(?m)^testing net 0: batch \d+ of 300$")

    def test_scoring_shows_its_batches(self):
        self.assertEqual(0, run("train", "--solver=solver.prototxt").code)
        shown = self.ends_like_a_pipe("test", "--model=examples/digits/train_test.prototxt",
                                      "--weights=run_iter_4.caffemodel", "--iterations=20")
        self.assertRegex(shown[0], r"^batch 1 of 20, [\d.]+ images/s, \w+ left, [\d.]+ MiB$")

    def test_checks_of_placement_show_their_iterations(self):
        shown = self.ends_like_a_pipe("train", "--solver=solver.prototxt", "--verify_placement=3")
        self.assertEqual("with the plan: iteration 1 of 3", shown[0])

    def test_profiling_shows_what_is_measured(self):
        program = self.start("time", "--model=examples/digits/train_test.prototxt", "--profile=profile.json",
                             "--iterations=2")
        code, lines = program.end()
        self.assertEqual((0, ""), (code, lines[-1]))
        shown = program.shown()
        self.assertEqual("measuring the device", shown[0])
        self.assertIn("measuring operations beside copies", shown)
        self.assertEqual([], [line for line in lines if "measuring" in line])

    def test_ctrl_c_stops_training_and_leaves_the_terminal_clean(self):
        write("net.prototxt", TINY_NET)
        write("solver.prototxt", TINY_SOLVER % 100000000)
        program = self.start("train", "--solver=solver.prototxt")
        program.read(until=r"^iteration \d+ of 100000000, loss [\d.e+-]+, \d+ items/s, \w+ left, 0\.0 MiB$")
        program.press_ctrl_c()
        code, lines = program.end()
        self.assertEqual(0, code)
        self.assertIn("Optimization stopped early.", "\n".join(lines))
        self.clean(lines)

    def test_a_second_ctrl_c_ends_the_program_and_leaves_the_terminal_clean(self):
        write("net.prototxt", TINY_NET)
        write("solver.prototxt", TINY_SOLVER % 10 + "iter_size: 2000000000\n")  # one iteration never ends
        program = self.start("train", "--solver=solver.prototxt")
        program.read(until="^iteration 0 of 10, 0.0 MiB$")
        program.press_ctrl_c()
        program.read(until=r"\^C$")
        program.await_signal_handler()  # two pending signals would count as one
        program.press_ctrl_c()
        code, lines = program.end()
        self.assertEqual(128 + signal.SIGINT, code)
        self.assertEqual("layrub: ended at once by SIGINT, the second request to stop.", lines[-2])
        self.clean(lines)

    def test_short_planning_shows_nothing_but_its_report(self):
        smallest = self.plan("--solver=solver.prototxt")["smallest_budget_bytes"]
        self.ends_like_a_pipe("plan", "--solver=solver.prototxt", f"--device_memory={smallest}")

    def test_long_planning_shows_progress_and_ends_with_ctrl_c(self):
        # Nothing is shown in the first second. The search for the largest batch takes longer than that.
        program = self.start("plan", f"--model={SOURCE}/models/resnet50/train_val.prototxt", "--data_shape=3,224,224",
                             "--batch=256", "--machine=k40", "--device_memory=3GiB", "--host_memory=4GiB", "--largest_batch")
        program.read(until=r"^looking for (plans of \d+ operations|the largest batch.*), \d+s$")
        program.press_ctrl_c()
        code, lines = program.end()
        self.assertEqual(-signal.SIGINT, code)
        self.clean(lines)

    def test_planning_leaves_no_log_files(self):
        os.mkdir("temporary")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLOG_")}
        environment.update(TMPDIR=os.path.abspath("temporary"), TERM="xterm")
        before = set(os.listdir("/tmp"))
        for flags in ([], ["--snapshot=warned-of"]):
            program = self.start("plan", "--solver=solver.prototxt", *flags, environment=environment)
            code, lines = program.end()
            self.assertEqual(0, code, lines[-5:])
            self.assertEqual([], os.listdir("temporary"))
            logs = [name for name in set(os.listdir("/tmp")) - before if f".{program.process}" in name]
            self.assertEqual([], logs)

    def test_a_terminal_that_cannot_erase_lines_shows_only_the_log(self):
        program = self.start("train", "--solver=solver.prototxt", term="dumb")
        code, _ = program.end()
        self.assertEqual(0, code)
        self.assertNotIn("\x1b", program.raw)
        self.assertNotRegex(program.raw, r"iteration \d+ of")

    def clean(self, lines):
        """Checks that each line is blank, a log line, or the program's last message."""
        self.assertEqual("", lines[-1])
        begins = [i for i, line in enumerate(lines) if PREFIX.match(line)]
        for i, line in enumerate(lines):
            self.assertNotRegex(line, r"iteration \d+ of|looking for|testing net|\^C")
            if begins and i > begins[-1]:
                self.assertRegex(line, r"^$|^layrub: ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
