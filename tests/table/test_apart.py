"""Workbooks and files of statistical programs are read in a process of their own: what befalls it is a TableError."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from sfumato.errors import TableError
from sfumato.progress import progress_listener
from sfumato.schema.dialect import Dialect
from sfumato.table.sources import child_process, open_source

pytest.importorskip("python_calamine", reason="needs the extra formats")

SHEET = '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
PARTS = {
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
    'Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
    '<sheet name="near" sheetId="1" r:id="rId1"/><sheet name="far" sheetId="2" r:id="rId2"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId2" Target="/xl/worksheets/two.xml" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"/>'
    '<Relationship Id="rId1" Target="worksheets/one.xml" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"/></Relationships>',
}


def workbook(path: Path, cell: str, attribute: str = 'r="{}"') -> Path:
    """Write a workbook whose second sheet has a cell far away."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in PARTS.items():
            archive.writestr(name, text)
        rows = '<row r="1"><c r="A1" t="str"><v>a</v></c></row><row r="2"><c r="A2"><v>5</v></c></row>'
        archive.writestr("xl/worksheets/one.xml", f"{SHEET}{rows}</sheetData></worksheet>")
        digits = cell.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        far = f"<row {attribute.format(digits)}><c {attribute.format(cell)}><v>7</v></c></row>"
        archive.writestr("xl/worksheets/two.xml", f"{SHEET}{rows}{far}</sheetData></worksheet>")
    return path


@pytest.mark.parametrize("cell", ["XFD1048576", "ZZ1048576", "XFD9000"])
@pytest.mark.parametrize("attribute", ['r="{}"', "s='1' r='{}'"])
def test_a_far_cell_is_refused_with_its_address(cell: str, attribute: str, tmp_path: Path):
    path = workbook(tmp_path / "t.xlsx", cell, attribute)
    with pytest.raises(TableError, match=f"reaches to {cell}\n  - only 3 of these [0-9,]+ cells"):
        open_source(path, Dialect(sheet="far"))
    near = open_source(path)
    assert near.engine.relation.fetchall() == [(5,)]
    assert any("'near' was read" in note for note in near.notes)


def test_many_cells_that_are_filled_are_read(tmp_path: Path):
    path = workbook(tmp_path / "t.xlsx", "C40")
    assert len(open_source(path, Dialect(sheet="far")).engine.relation.fetchall()) == 2


DEATHS = {
    "import os; os.abort()": "is damaged, or needs more than",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "its reader crashed",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "is damaged, or needs more than",
    "raise KeyError('Ann')": "its reader crashed",
    "print('{')": "its reader crashed",
    "import time; time.sleep(60)": "was not read within 1 s",
}


@pytest.mark.parametrize("program", DEATHS)
def test_whatever_becomes_of_the_process_is_told_of_the_file(program: str, tmp_path: Path, monkeypatch):
    (tmp_path / "child.py").write_text(program)
    monkeypatch.setattr(child_process, "SCRIPT", tmp_path / "child.py")
    monkeypatch.setattr(child_process, "SECONDS", 1 if "sleep" in program else 60)
    with pytest.raises(TableError, match=DEATHS[program]) as caught:
        open_source(workbook(tmp_path / "t.xlsx", "A9"))
    assert "t.xlsx" in str(caught.value) and "Ann" not in str(caught.value) and caught.value.next_step


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_the_process_has_a_limit_of_memory_and_of_time(tmp_path: Path, monkeypatch):
    import resource

    child = (
        "import sys; sys.path.insert(0, PLACE); import foreign; foreign.read_workbook = lambda r: GREED\nforeign.main()"
    )
    place = repr(str(Path(child_process.__file__).parent))
    (tmp_path / "child.py").write_text(child.replace("PLACE", place).replace("GREED", "bytearray(1 << 36)"))
    monkeypatch.setattr(child_process, "SCRIPT", tmp_path / "child.py")
    with pytest.raises(TableError, match=r"needs more than [\d.]+ GB to be read"):
        open_source(workbook(tmp_path / "t.xlsx", "A9"))
    limits = "{n: __import__('resource').getrlimit(getattr(__import__('resource'), n))[0] for n in r and NAMES}"
    (tmp_path / "child.py").write_text(
        child.replace("PLACE", place).replace("GREED", limits.replace("NAMES", "('RLIMIT_CPU', 'RLIMIT_CORE')"))
    )
    answer, _ = child_process.read_apart(str(tmp_path / "t.xlsx"), "x", kind="workbook")
    assert answer == {"RLIMIT_CPU": 300, "RLIMIT_CORE": 0}
    assert resource.getrlimit(resource.RLIMIT_CPU)[0] != 300, "only the process is limited"


def test_the_work_can_be_stopped_while_it_waits(tmp_path: Path, monkeypatch):
    class StoppedError(BaseException):
        pass

    def stop(_stage: str, _done: float | None) -> None:
        raise StoppedError

    (tmp_path / "child.py").write_text(
        f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    )
    monkeypatch.setattr(child_process, "SCRIPT", tmp_path / "child.py")
    monkeypatch.setattr(child_process, "GRACE", 3.0)
    begun = time.monotonic()
    with progress_listener(stop), pytest.raises(StoppedError):
        open_source(workbook(tmp_path / "t.xlsx", "A9"))
    assert time.monotonic() - begun < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_threads_read_and_no_main_module_is_run_again(tmp_path: Path):
    workbook(tmp_path / "t.xlsx", "A9")
    (tmp_path / "main.py").write_text(
        "import threading\nfrom sfumato.table.sources import open_source\nprint('main')\n"
        "def read(): print(open_source('t.xlsx').engine.relation.fetchall())\n"
        "t = threading.Thread(target=read); t.start(); t.join()\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "main\n[(5,)]\n", done.stderr


def test_the_process_imports_nothing_of_sfumato():
    text = Path(child_process.SCRIPT).read_text()
    assert "import sfumato" not in text and "from sfumato" not in text
