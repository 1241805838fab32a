"""The command line of sfumato."""

from __future__ import annotations

import sys

from sfumato.cli.interrupt import before_anything, listen
from sfumato.progress import Stopped


def main() -> None:
    """Run the command line; named errors become one message and exit code 2."""
    try:
        listen()
        from sfumato.cli.main import run
    except Stopped as stop:
        sys.exit(before_anything(stop.number))
    except BaseException:
        if Stopped.received is None:  # some modules turn whatever stops their import into an error of theirs
            raise
        sys.exit(before_anything(Stopped.received))
    sys.exit(run())
