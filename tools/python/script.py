"""How a script ends: its output is whole, and what went wrong is one sentence and exit code 1."""

import os
import sys
import tempfile


class BadInput(Exception):
    """An input that cannot be used; says which, and in which line."""


def write_whole(path, text):
    """Replaces the file at once, or leaves it as it was. What is no file (a device, a pipe) is written to."""
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
    """The text of a file, whatever its bytes."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError as error:
        raise BadInput(f'{path}: {error.strerror}') from error


def run_script(main):
    """Ends the script with the exit code that main() returns. Where an input cannot be read, or the output cannot be
    written, it says so in one sentence and ends with 1."""
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left cannot be written either
        code = f'{script}: cannot write {error.filename or "the standard output"}: {error.strerror}'
    sys.exit(code)
