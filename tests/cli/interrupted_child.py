"""A command line that gets a signal at a named moment: ``python interrupted_child.py WHEN SIGNAL ARGUMENTS...``."""

from __future__ import annotations

import builtins
import os
import signal
import sys
import time

WHEN, NUMBER = sys.argv[1], int(getattr(signal, sys.argv[2]))
sys.argv = ["sfumato", *sys.argv[3:]]


def hit(*_arguments, **_named):
    os.kill(os.getpid(), NUMBER)
    time.sleep(5)
    raise AssertionError("the signal did not stop the work")


def during_imports() -> None:
    real = builtins.__import__

    def importing(name, *rest):
        if name == "typer":
            hit()
        return real(name, *rest)

    builtins.__import__ = importing


def arrange() -> None:
    from sfumato.cli import release_verbs
    from sfumato.privacy.ledger import Ledger
    from sfumato.releases.contingency import Contingency
    from sfumato.report import bundle

    if WHEN == "before":
        release_verbs.read = hit
    elif WHEN == "run":
        Contingency.run = hit
    elif WHEN == "save":
        bundle._settle = hit
    elif WHEN == "mark":
        Ledger.mark_saved = hit
    elif WHEN == "show":
        release_verbs.show_release = hit
    elif WHEN == "engine":  # an engine that turns the signal into an error of its own
        Contingency.run = lambda *_arguments: translated()


def translated():
    try:
        hit()
    except BaseException:  # noqa: BLE001
        raise RuntimeError("Query interrupted") from None


if WHEN == "imports":
    during_imports()
else:
    arrange()
from sfumato.cli import main  # noqa: E402

main()
