import csv, json
from pathlib import Path

SRC = Path("src/sfumato")
rows = []
for f in ("A-schema-table-privacy", "B-core-sampling-mechanisms"):
    rows += list(csv.DictReader(open(f"../shared/house-map/{f}.csv")))
inside = ("schema/", "table/", "privacy/", "core/", "dp_schema/", "sampling/", "constraints/", "mechanisms/")
out = []


def plain(old):
    if old.startswith("methods/"):
        return "mechanisms/" + old[len("methods/") :]
    if old.startswith("rows/rules/"):
        return "constraints/" + old[len("rows/rules/") :]
    if old.startswith("rows/"):
        return "sampling/" + old[len("rows/") :]
    if old.startswith("release/"):
        return "core/" + old[len("release/") :]
    if old.startswith("buying/"):
        return "dp_schema/" + old[len("buying/") :]
    return old


for r in rows:
    first = r["new"].split(";")[0].strip()
    if first and "/" in first and not first.startswith(inside):
        r = dict(
            r,
            new=plain(r["old"]),
            action="move",
            docstring=r["docstring"] if not first.startswith("papers/") or True else "",
        )
    if r["action"] == "delete" and not r["old"].endswith("__init__.py"):
        r = dict(r, new=plain(r["old"]), action="move")
    out.append(r)
for old, new, doc in [
    ("release/purchases.py", "core/purchases.py", ""),
    ("rows/space.py", "disk_space.py", ""),
    ("table/causes.py", "table/error_causes.py", ""),
    ("table/persons.py", "table/persons.py", ""),
    ("table/sources/apart.py", "table/sources/child_process.py", ""),
    ("table/sources/declared.py", "table/sources/declared.py", ""),
    ("table/sources/foreign.py", "table/sources/foreign.py", ""),
    ("schema/purchase.py", "schema/purchase.py", ""),
    ("privacy/ledger/address.py", "privacy/ledger/address.py", ""),
    ("privacy/ledger/definitions.py", "privacy/ledger/definitions.py", ""),
    ("bounded.py", "bounded_reads.py", ""),
]:
    out.append({"old": old, "new": new, "action": "move", "docstring": doc, "renames": "", "why": ""})
for a, b in [
    ("quality", "evaluate/quality"),
    ("uncertainty", "evaluate/uncertainty"),
    ("comparison", "evaluate/compare"),
    ("forecast", "evaluate/forecast"),
    ("calibration", "evaluate/calibrate"),
]:
    for p in sorted((SRC / a).glob("*.py")):
        out.append(
            {
                "old": f"{a}/{p.name}",
                "new": f"{b}/{p.name}",
                "action": "move",
                "docstring": "",
                "renames": "",
                "why": "",
            }
        )
w = csv.DictWriter(open("moves/mapAB/map.csv", "w"), ["old", "new", "action", "docstring", "renames", "why"])
w.writeheader()
w.writerows(out)
