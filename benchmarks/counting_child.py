"""One contender in a process of its own: ``python counting_child.py NAME ROWS`` prints its cost as JSON.

Warm-up on a tiny file comes first, for every contender alike, so that imports, Numba's compiled loops and thread pools
are outside the time. Peak memory is that of the whole process, imports included.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from counting_data import NAMES, PAIRS, WARM_ROWS, path_of, schema_text
from measuring import measure

SFUMATO = "sfumato"
CHECK = "sfumato check (validation)"


def contender(name: str) -> Callable[[str], Any]:
    """Return the function to be timed; it takes the path of a Parquet file."""
    if name not in (SFUMATO, CHECK):
        from counting_rivals import RIVALS

        return RIVALS[name]
    import sfumato

    schema = sfumato.Schema.parse(schema_text())
    pairs = [(NAMES[i], NAMES[j]) for i, j in PAIRS]
    if name == CHECK:
        return lambda path: sfumato.read(path, schema).check()
    return lambda path: sfumato.read(path, schema).marginals(pairs)


def digest(tables: Mapping[tuple[Any, ...], np.ndarray], keys: Sequence[tuple[Any, ...]]) -> str:
    """Return a hash of all tables in one order, as 64-bit integers."""
    total = hashlib.sha256()
    for key in keys:
        table = np.ascontiguousarray(tables[key], dtype=np.int64)
        total.update(repr(table.shape).encode() + table.tobytes())
    return total.hexdigest()


def main() -> None:
    """Warm up, time one run, print the cost."""
    name, rows = sys.argv[1], int(sys.argv[2])
    call = contender(name)
    call(str(path_of(WARM_ROWS)))
    answer, cost = measure(lambda: call(str(path_of(rows))))
    if name == CHECK:
        print(json.dumps({**cost, "violations": len(answer)}))
        return
    keys = [(NAMES[i], NAMES[j]) for i, j in PAIRS] if name == SFUMATO else PAIRS
    print(json.dumps({**cost, "digest": digest(answer, keys)}))


if __name__ == "__main__":
    main()
