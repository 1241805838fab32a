from __future__ import annotations
import ast, json, re, subprocess, sys, collections
from pathlib import Path

ROOT = Path(sys.argv[1])
SRC = ROOT / "src/sfumato"
state = json.load(open("moves/state.json"))


def dotted(rel):
    return ".".join(["sfumato", *rel.removesuffix(".py").split("/")])


problems = []
rewrite = {}


def is_tc(n):
    return isinstance(n, ast.If) and ast.unparse(n.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


for first, olds in state["mergers"].items():
    members = [state["newrel"][o] for o in olds]
    mods = {dotted(m): m for m in members}
    target = dotted(first)
    text = {m: (SRC / m).read_text() for m in members}
    tree = {m: ast.parse(text[m]) for m in members}
    deps = {m: set() for m in members}
    for m in members:
        for n in tree[m].body:
            if isinstance(n, ast.ImportFrom) and n.module in mods:
                deps[m].add(mods[n.module])
    order, left = [], list(members)
    while left:
        ready = [m for m in left if not (deps[m] & set(left) - {m})]
        if not ready:
            problems.append(f"cycle in {first}: {left}")
            ready = left[:1]
        order.append(ready[0])
        left.remove(ready[0])
    imports, tcs, bodies, docs, alls = [], [], [], [], []
    bound = {}
    definitions = {}
    for m in order:
        lines = text[m].split("\n")
        last = 0
        body = tree[m].body
        d = ast.get_docstring(tree[m], clean=False)
        start = 0
        for i, n in enumerate(body):
            seg_start = last
            last = n.end_lineno
            top = n.decorator_list[0].lineno if getattr(n, "decorator_list", None) else n.lineno
            lead = "\n".join(lines[seg_start : top - 1]).strip("\n")
            code = "\n".join(lines[top - 1 : n.end_lineno])
            if (
                i == 0
                and isinstance(n, ast.Expr)
                and isinstance(n.value, ast.Constant)
                and isinstance(n.value.value, str)
            ):
                rest = d.partition("\n\n")[2].strip("\n") if d else ""
                if rest:
                    docs.append(rest)
                continue
            if isinstance(n, ast.ImportFrom) and n.module == "__future__":
                continue
            if isinstance(n, ast.ImportFrom) and n.module in mods:
                for al in n.names:
                    if al.asname and al.asname != al.name:
                        bodies.append(f"{al.asname} = {al.name}")
                        problems.append(f"alias {first}: {al.name} as {al.asname}")
                continue
            if isinstance(n, (ast.Import, ast.ImportFrom)):
                imports.append(code)
                for al in n.names:
                    key = al.asname or al.name.split(".")[0]
                    what = (
                        ast.unparse(ast.ImportFrom(n.module, [al], 0))
                        if isinstance(n, ast.ImportFrom)
                        else f"import {al.name}"
                    )
                    if bound.setdefault(key, what) != what:
                        problems.append(f"import conflict {first}: {key}: {bound[key]} / {what} in {m}")
                continue
            if is_tc(n):
                for c in n.body:
                    if isinstance(c, ast.ImportFrom) and c.module in mods:
                        continue
                    tcs.append(ast.unparse(c))
                continue
            names = set()
            if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                names = {n.name}
            elif isinstance(n, ast.Assign):
                names = {x.id for t in n.targets for x in ast.walk(t) if isinstance(x, ast.Name)}
            elif isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name):
                names = {n.target.id}
            if "__all__" in names:
                alls += [c.value for c in ast.walk(n.value) if isinstance(c, ast.Constant)]
                continue
            dup = [x for x in names if x in definitions]
            if dup:
                if definitions[dup[0]] == ast.dump(n):
                    skip_doc = True
                    continue
                problems.append(f"DEFINED TWICE {first}: {dup} in {m}")
            for x in names:
                definitions[x] = ast.dump(n)
            bodies.append((lead + "\n" if lead else "") + code)
    for x in definitions:
        if x in bound:
            problems.append(f"import {bound[x]} and definition of {x} in {first}")
    head = '"""' + state["doc"][first].strip() + ("\n\n" + "\n\n".join(docs) + "\n" if docs else "") + '"""'
    out = [head, "", "from __future__ import annotations", "", *imports, ""]
    if tcs:
        out += [
            "from typing import TYPE_CHECKING",
            "",
            "if TYPE_CHECKING:",
            *["    " + t for t in dict.fromkeys(tcs)],
            "",
        ]
    if alls:
        out += ["__all__ = [" + ", ".join(repr(a) for a in alls) + "]", ""]
    out += [b + "\n" for b in bodies]
    path = SRC / first
    subprocess.run(["git", "-C", str(ROOT), "mv", "-f", str(SRC / members[0]), str(path)], check=True)
    for m in members[1:]:
        subprocess.run(["git", "-C", str(ROOT), "rm", "-qf", str(SRC / m)], check=True)
    path.write_text("\n".join(out))
    for m in mods:
        rewrite[m] = target
print(len(problems))
print("\n".join(problems))
pat = re.compile("|".join(sorted((re.escape(m) for m in rewrite), key=len, reverse=True)))
leaf = {m.rsplit(".", 1)[1]: t.rsplit(".", 1)[1] for m, t in rewrite.items()}
leafpat = re.compile(r"\b(" + "|".join(sorted(leaf, key=len, reverse=True)) + r")\b")
for base in (
    "src",
    "tests",
    "docs",
    "benchmarks",
    "examples",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Makefile",
    "pyproject.toml",
):
    b = ROOT / base
    for p in [b] if b.is_file() else b.rglob("*"):
        if not p.is_file() or p.suffix not in (".py", ".md", ".ipynb", ".toml", ".txt", ".html", ""):
            continue
        try:
            t = p.read_text()
        except UnicodeDecodeError:
            continue
        n = leafpat.sub(lambda m: leaf[m.group(1)], pat.sub(lambda m: rewrite[m.group(0)], t))
        n2 = re.sub(r"([a-z_]+)__m_[a-z_0-9]+", r"\1", n)
        if n2 != t:
            p.write_text(n2)
# imports of oneself inside functions
for first in state["mergers"]:
    p = SRC / first
    t = p.read_text()
    me = dotted(first)
    tree = ast.parse(t)
    lines = t.split("\n")
    gone = []
    for n in ast.walk(tree):
        if isinstance(n, ast.ImportFrom) and n.module == me:
            gone.append((n.lineno, n.end_lineno, n.col_offset))
    for a, b, c in sorted(gone, reverse=True):
        lines[a - 1 : b] = []
    t = "\n".join(lines)
    own = me.rsplit(".", 1)[1]
    parent = me.rsplit(".", 1)[0]
    self_import = re.compile(rf"^( *)from {re.escape(parent)} import (?:.*\b)?{own}\b(?: as (\w+))?.*$", re.M)
    tree = ast.parse(t)
    for n in ast.walk(tree):
        if isinstance(n, ast.ImportFrom) and n.module == parent and any(a.name == own for a in n.names):
            a = next(a for a in n.names if a.name == own)
            name = a.asname or own
            ls = t.split("\n")
            rest = [x for x in n.names if x is not a]
            ls[n.lineno - 1 : n.end_lineno] = (
                [" " * n.col_offset + ast.unparse(ast.ImportFrom(n.module, rest, 0))] if rest else []
            )
            t = re.sub(rf"(?<![\w.]){name}\.(?=[A-Za-z_])", "", "\n".join(ls))
            print("self module", first, name)
            break
    p.write_text(t)
