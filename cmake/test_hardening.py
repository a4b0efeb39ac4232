#!/usr/bin/env python3
"""Tests that programs and libraries are hardened: they load nothing from the current folder, addresses are random,
tables are read-only before main, and no shell runs with a user's text. The programs are in LAYRUB_BIN_DIR, by default
build/bin."""
import os
import re
import shutil
import subprocess
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.abspath(os.environ.get("LAYRUB_BIN_DIR", os.path.join(SOURCE, "build/bin")))


def is_elf(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def built():
    """Every program and shared library of the build."""
    for top in (BIN, os.path.join(os.path.dirname(BIN), "lib")):
        for folder, _, names in os.walk(top):
            yield from (path for path in (os.path.join(folder, name) for name in sorted(names)) if is_elf(path))


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True).stdout


@unittest.skipUnless(shutil.which("readelf"), "no readelf: nothing can be read of programs")
class Hardening(unittest.TestCase):
    def setUp(self):
        self.files = list(built())
        self.assertTrue(self.files, BIN + " holds no program")

    def each(self, *arguments):
        for path in self.files:
            with self.subTest(os.path.basename(path)):
                yield path, readelf(*arguments, path)

    def test_libraries_are_searched_at_absolute_paths_or_next_to_the_program(self):
        for _, text in self.each("-d"):
            for entries in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text):
                for entry in entries.split(":"):
                    self.assertRegex(entry, r"^(/|\$ORIGIN(/|$))", entries)

    def test_tables_are_read_only_before_main(self):
        for path, text in self.each("-d", "-l"):
            self.assertIn("GNU_RELRO", text, path)
            self.assertRegex(text, r"BIND_NOW|Flags:.*\bNOW\b", path)

    def test_addresses_are_random(self):
        for path, text in self.each("-h", "-d"):
            self.assertRegex(text, r"Type:\s+DYN", path)
            if "(SONAME)" not in text and not path.endswith(".so"):
                self.assertRegex(text, r"Flags:.*\bPIE\b", path)

    def test_no_stack_is_executable(self):
        for path, text in self.each("-l"):
            self.assertRegex(text, r"GNU_STACK\s.*\sRW\s", path)

    def test_buffers_are_guarded(self):
        of_interest = [path for path in self.files if re.match(r"layrub$|libcaffe\.so", os.path.basename(path))]
        self.assertTrue(of_interest)
        for path in of_interest:
            symbols = readelf("--dyn-syms", path)
            if "__asan_init" in symbols or "__tsan_init" in symbols:
                self.skipTest("a sanitizer looks after that in this build")
            self.assertIn("__stack_chk_fail", symbols, path)
            if path.endswith("layrub"):
                continue  # it may have no call that _FORTIFY_SOURCE can check
            self.assertRegex(symbols, r"__\w+_chk@", path + ": built without optimization?")


class Shells(unittest.TestCase):
    def test_no_shell_is_run(self):
        shell = re.compile(r"\b(system|popen|execl|execlp|execle|execvp|execvpe|wordexp)\s*\(")
        for top in ("src", "include", "tools", "examples"):
            for folder, folders, names in os.walk(os.path.join(SOURCE, top)):
                folders[:] = [name for name in folders if name != "test"]
                for name in names:
                    if not name.endswith((".cpp", ".hpp", ".cu", ".cuh", ".h")):
                        continue
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        for number, line in enumerate(file, 1):
                            self.assertIsNone(shell.search(line.split("//")[0]), f"{path}:{number}: {line}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
