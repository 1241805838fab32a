"""A command line that gets a signal at a named moment: ``python interrupted_child.py WHEN SIGNAL ARGUMENTS...``."""

from __future__ import annotations

import builtins
import os
import signal
import sys
import time


def hit(*_arguments, **_named):
    os.kill(os.getpid(), int(getattr(signal, SIGNAL)))
    time.sleep(5)
    raise AssertionError("the signal did not stop the work")


def then(real):
    """Send the signal, and go on where it is held back."""

    def work(*arguments, **named):
        os.kill(os.getpid(), int(getattr(signal, SIGNAL)))
        return real(*arguments, **named)

    return work


def during_imports() -> None:
    real = builtins.__import__

    def importing(name, *rest):
        if name == "typer":
            hit()
        return real(name, *rest)

    builtins.__import__ = importing


def arrange(when: str) -> None:
    from sfumato.bundle import write
    from sfumato.cli.options import TableOptions
    from sfumato.cli.release import release
    from sfumato.mechanisms.counts.contingency import Contingency
    from sfumato.privacy.ledger import Ledger

    if when == "before":
        TableOptions.read = hit
    elif when == "run":
        Contingency.run = hit
    elif when == "save":
        write.flush_to_disk = then(write.flush_to_disk)
    elif when == "mark":
        Ledger.mark_saved = then(Ledger.mark_saved)
    elif when == "show":
        release.show_release = hit
    elif when == "engine":  # an engine that turns the signal into an error of its own
        Contingency.run = lambda *_arguments: translated()


def translated():
    try:
        hit()
    except BaseException:  # noqa: BLE001
        raise RuntimeError("Query interrupted") from None


if __name__ == "__main__":
    when, SIGNAL = sys.argv[1:3]
    sys.argv = ["sfumato", *sys.argv[3:]]
    if when == "imports":
        during_imports()
    else:
        arrange(when)
    from sfumato.cli import main

    main()
