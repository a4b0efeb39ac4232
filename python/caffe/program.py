"""Runs the programs next to this package."""
import os
import sys


def run(main, *errors):
    """Exits with the code that main() returns. If main() raises an OSError, a ValueError or one of `errors`, prints one
    sentence that names the program and exits with 1."""
    try:
        code = main()
    except (OSError, ValueError, *errors) as error:
        said = error
        if isinstance(error, OSError) and error.filename is not None:
            said = f'{error.filename}: {error.strerror}'
        elif isinstance(error, KeyError):
            said = error.args[0]
        code = f'{os.path.basename(sys.argv[0])}: {said}'
    sys.exit(code)
