import re, sys
from pathlib import Path

R = Path(sys.argv[1])


def sub(p, a, b, count=1):
    q = R / p
    t = q.read_text()
    if a not in t:
        print("missing", p, a[:60])
        return
    q.write_text(t.replace(a, b, count))


sub("src/sfumato/schema/confirm.py", "from sfumato.schema import Schema\n", "")
sub(
    "src/sfumato/mechanisms/graphical/method.py",
    "budget: Budget) -> Candidates:\n",
    'budget: Budget) -> Candidates:\n    """Return the marginals that the exponential mechanism may choose from, with their weights."""\n',
)
