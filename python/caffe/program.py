"""How the programs beside this package begin and end."""
import os
import sys


def run(main, *errors):
    """Ends the program with the exit code that main() returns, or, where it raises an OSError, a ValueError or one of
    `errors`, with 1 and one sentence that names the program."""
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
