"""Release the example households from Python: a synthetic table, a histogram and cross tables under one budget."""

from __future__ import annotations

import sys
from pathlib import Path

import sfumato
from sfumato.example import codebook, households


def main(folder: Path) -> None:
    """Make the population, open an account, and write three bundles."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = codebook()
    table = sfumato.read(households(), schema)

    ledger = sfumato.Ledger(folder / "ledger.db")
    ledger.open_table(schema.name, epsilon=4, delta=1e-6, adjacency=schema.adjacency)

    methods = {
        "synthetic": sfumato.AIM(epsilon=2),
        "ages": sfumato.Histogram("age", epsilon=0.5),
        "tables": sfumato.Contingency([["region"], ["age", "sex"], ["region", "sex", "education"]], epsilon=1.5),
    }
    for name, method in methods.items():
        release = sfumato.release(table, method, ledger=ledger)
        print(release.guarantee.statement().splitlines()[0])
        print(f"  {release.save(folder / name)}")
        if release.model is not None:  # more rows cost nothing
            print(f"  {release.model.write_parquet(folder / 'more.parquet', rows=100_000, overwrite=True)}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "households-out"))
