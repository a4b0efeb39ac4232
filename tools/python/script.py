"""Helpers by which a script writes complete output, and reports an error in one sentence with exit code 1."""

import os
import sys
import tempfile


class BadInput(Exception):
    """An input that cannot be used; the message names the file and the line."""


def write_whole(path, text):
    """Replaces the file atomically or not at all. A device or a pipe is written to directly."""
    target = os.path.realpath(path)
    aside = None
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
            return
        if os.path.exists(path):
            open(path, 'r+b').close()  # a rename asks only the folder for permission
        handle, aside = tempfile.mkstemp(prefix=os.path.basename(target) + '.', dir=os.path.dirname(target))
        with open(handle, 'w', encoding='utf-8') as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(aside, 0o666 & ~umask)
        os.replace(aside, target)
    except OSError as error:
        if aside:
            os.unlink(aside)
        raise OSError(error.errno, error.strerror, path) from error


def read_text(path):
    """The text of a file, whatever its encoding."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError as error:
        raise BadInput(f'{path}: {error.strerror}') from error


def run_script(main):
    """Ends the script with the exit code that main() returns. If an input cannot be read, or the output cannot be
    written, reports it in one sentence and exits with 1."""
    script = os.path.basename(sys.argv[0])
    if sys.stdout is None:
        sys.exit(f'{script}: the standard output is closed')
    sys.stdout.reconfigure(errors='backslashreplace')
    try:
        try:
            code = main()
        except BadInput as error:
            code = f'{script}: {error}'
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest cannot be written either
        code = f'{script}: cannot write {error.filename or "the standard output"}: {error.strerror}'
    sys.exit(code)
