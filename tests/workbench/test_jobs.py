"""Long work beside the pages: one at a time, stopped where it speaks, and what was spent is said."""

from __future__ import annotations

import threading
from importlib import import_module

import pytest

from sfumato.bundle import write as bundle
from sfumato.errors import KeptElsewhereError, TableError, WorkbenchError
from sfumato.evaluate.uncertainty import main_numbers
from sfumato.privacy.ledger import Ledger
from sfumato.progress import report_progress
from sfumato.workbench.jobs import Job, Jobs
from sfumato.workbench.views import release

LONG = 60
WAY = import_module("sfumato.core.release")  # the function of the same name hides the folder


def stopped_at(stage, project, monkeypatch):
    """Release a histogram, and stop it where it begins a stage."""
    project.change(columns=("sex",), method="histogram", about_rows="600")
    job = Job("releasing", lambda: release.run(project))

    def telling(words, done=None):
        if words.startswith(stage):
            job.stop()
        report_progress(words, done)

    monkeypatch.setattr(WAY, "report_progress", telling)
    job.start()
    job.wait(LONG)
    return job


def test_stopped_before_the_record_nothing_is_spent(budgeted, monkeypatch):
    job = stopped_at("checking", budgeted, monkeypatch)
    assert job.standing == "stopped" and job.spent == "nothing was spent and nothing was written"
    assert Ledger(budgeted.ledger).history() == () and budgeted.state.releases == ()


def test_stopped_after_the_record_the_cost_is_said_and_marked(budgeted, monkeypatch):
    job = stopped_at("running", budgeted, monkeypatch)
    assert job.standing == "stopped" and job.spent.startswith("epsilon 1 is spent (entry 2 of the ledger)")
    book = Ledger(budgeted.ledger)
    assert [str(each) for each in book.outcomes().values()] == ["no bundle came of it: interrupted"]
    assert not budgeted.out.exists()


def test_a_stop_during_the_reruns_keeps_the_bundle_and_lists_it(budgeted, monkeypatch):
    def again(*_):
        job.stop()
        report_progress("running the method again on the released rows")
        raise AssertionError("the stop was not delivered")

    monkeypatch.setattr(main_numbers, "main_statistics", again)
    monkeypatch.setenv("SFUMATO_RERUNS", "4")
    budgeted.change(columns=("sex", "region"), method="marginals", settings="pairs=none", anyway=True)
    job = Job("releasing", lambda: release.run(budgeted))
    job.start()
    job.wait(LONG)
    assert job.standing == "stopped" and "is complete, but may lack expected errors" in job.spent
    assert [each.method for each in budgeted.state.releases] == ["marginals"]
    assert release.verify_release(budgeted, 1).ok


def test_a_stop_is_delivered_once():
    heard = []

    def work():
        job.stop()
        try:
            report_progress("first")
        finally:
            report_progress("saving what is paid for")
            heard.append("saved")

    job = Job("working", work)
    job.start()
    job.wait(LONG)
    assert job.standing == "stopped" and heard == ["saved"]


def test_a_release_that_is_kept_elsewhere_is_listed(budgeted, monkeypatch, tmp_path):
    real = bundle.write_bundle

    def write(made, folder, key=None, pages=True):
        if "bundles" in folder.parts:
            raise OSError(28, "No space left on device")
        return real(made, folder, key, pages)

    monkeypatch.setattr(bundle, "write_bundle", write)
    budgeted.change(columns=("sex",), method="histogram", about_rows="600")
    with pytest.raises(KeptElsewhereError) as error:
        release.run(budgeted)
    assert [each.folder for each in budgeted.state.releases] == [str(error.value.folder)]
    assert release.verify_release(budgeted, 1).ok


def test_one_piece_of_work_at_a_time():
    jobs, free = Jobs(), threading.Event()
    first = jobs.begin("a", "waiting", lambda: free.wait(LONG))
    with pytest.raises(WorkbenchError, match="still running"):
        jobs.begin("b", "more", lambda: None)
    free.set()
    first.wait(LONG)
    jobs.begin("b", "more", lambda: 5).wait(LONG)
    assert jobs["b"].result == 5 and jobs.running is None


def fails(error):
    def work():
        raise error

    job = Job("failing", work)
    job.start()
    job.wait(LONG)
    return job.trouble


def test_named_errors_keep_their_next_step():
    found = fails(TableError("no table", ["it is a picture"], "give another file"))
    assert (found.headline, found.problems, found.next_step) == ("no table", ("it is a picture",), "give another file")


def test_an_error_that_nobody_foresaw_tells_no_private_value():
    found = fails(ValueError("income of Ms Smith: 1234567"))
    assert "Smith" not in str(found) and "ValueError" in found.headline


def test_memory_is_a_sentence():
    assert "memory" in fails(MemoryError()).headline
