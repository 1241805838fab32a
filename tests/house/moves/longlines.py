"""Break lines over 120 characters: prose at a space, string literals into two."""

import io, re, subprocess, sys, tokenize
from pathlib import Path

ROOT = Path(sys.argv[1])
LIMIT = 120
out = subprocess.run(
    [
        ".venv/bin/ruff",
        "check",
        "--select",
        "E501",
        "--output-format",
        "concise",
        "src",
        "tests",
        "docs",
        "benchmarks",
        "examples",
    ],
    cwd=ROOT,
    capture_output=True,
    text=True,
).stdout
todo = {}
for line in out.split("\n"):
    m = re.match(r"(.+?):(\d+):\d+: E501", line)
    if m:
        todo.setdefault(m.group(1), []).append(int(m.group(2)))
for name, numbers in todo.items():
    p = ROOT / name
    text = p.read_text()
    lines = text.split("\n")
    toks = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for n in sorted(set(numbers), reverse=True):
        line = lines[n - 1]
        indent = re.match(r" *", line).group(0)
        multi = next(
            (t for t in toks if t.type == tokenize.STRING and t.start[0] <= n <= t.end[0] and t.start[0] != t.end[0]),
            None,
        )
        single = next(
            (
                t
                for t in toks
                if t.type == tokenize.STRING and t.start[0] == n == t.end[0] and t.string.startswith('"""')
            ),
            None,
        )
        if multi or single:
            cut = line.rfind(" ", 0, LIMIT - 2)
            rest = line[cut + 1 :]
            lines[n - 1] = line[:cut]
            nxt = lines[n] if n < len(lines) else ""
            if (
                nxt.strip()
                and not nxt.strip().startswith(('"""', "*", "-", ">>>", ":"))
                and len(indent + rest + " " + nxt.strip()) <= LIMIT
                and not rest.rstrip().endswith('"""')
            ):
                lines[n] = indent + rest + " " + nxt.strip()
            else:
                lines.insert(n, indent + rest)
            continue
        strings = [t for t in toks if t.type == tokenize.STRING and t.start[0] == n == t.end[0] and len(t.string) > 30]
        if strings:
            t = max(strings, key=lambda t: len(t.string))
            a, b = t.start[1], t.end[1]
            prefix = re.match(r"[rfbu]*", t.string, re.I).group(0)
            q = t.string[len(prefix)]
            depth, best = 0, None
            for i in range(a + len(prefix) + 1, b - 1):
                c = line[i]
                if "f" in prefix.lower():
                    if c == "{":
                        depth += 1
                    if c == "}":
                        depth -= 1
                if c == " " and depth == 0 and i < LIMIT - 3:
                    best = i
            if best is None:
                print("cannot", name, n)
                continue
            first, second = line[: best + 1] + q, prefix + q + line[best + 1 :]
            stripped = line.strip()
            m = re.match(r"( *)(return|yield|[\w.]+ \+?=) (?!\()", line)
            if m and stripped.endswith(q):
                head = m.group(0)
                lines[n - 1 : n] = [
                    head + "(",
                    indent + "    " + first[len(head) :],
                    indent + "    " + second,
                    indent + ")",
                ]
            else:
                pad = indent if stripped.startswith((prefix + q)) else indent + "    "
                lines[n - 1 : n] = [first, pad + second]
        elif line.strip().startswith("#"):
            cut = line.rfind(" ", 0, LIMIT - 2)
            lines[n - 1 : n] = [line[:cut], indent + "# " + line[cut + 1 :]]
        else:
            print("cannot", name, n, line[:150])
    p.write_text("\n".join(lines))
