"""The command line: every verb teaches, reports progress, speaks JSON on request, and fails without a traceback."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; named errors become one message and exit code 2."""
    from sfumato.cli.app import run

    sys.exit(run())
