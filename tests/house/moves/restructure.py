"""Move modules and rename top-level names of a package, and rewrite every reference, from a table of moves."""

from __future__ import annotations
import json
import ast, csv, glob, re, subprocess, sys, os, collections
from pathlib import Path

ROOT = Path(sys.argv[1])
MAPS = sys.argv[2]
ONLY = set(sys.argv[3].split(",")) if len(sys.argv) > 3 else None
SRC = ROOT / "src/sfumato"


def dotted(rel: str) -> str:
    parts = rel.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(["sfumato", *parts])


rows = []
for f in sorted(glob.glob(MAPS + "/*.csv")):
    rows += list(csv.DictReader(open(f)))
exists = {str(p.relative_to(SRC)) for p in SRC.rglob("*.py")}
mapped = {r["old"] for r in rows}
print("gone:", sorted(mapped - exists))
rows = [r for r in rows if r["old"] in exists]
OVER = json.load(open("moves/overrides.json"))
for r in rows:
    if r["old"] in OVER:
        if r["new"] != OVER[r["old"]]:
            r["docstring"] = ""
        r["new"] = OVER[r["old"]]
        r["action"] = "move"

target = collections.Counter(r["new"].split(";")[0] for r in rows if r["action"] != "delete")
newrel: dict[str, str] = {}
doc: dict[str, str] = {}
mergers = collections.defaultdict(list)
taken = set()
for r in rows:
    first = r["new"].split(";")[0].strip()
    if r["action"] == "delete" and r["old"].endswith("__init__.py"):
        newrel[r["old"]] = r["old"]
        continue
    if r["action"] == "delete" or not first:
        newrel[r["old"]] = r["old"]
        continue
    if target[first] > 1:
        if first.endswith("__init__.py"):
            if Path(r["old"]).name == "__init__.py":
                newrel[r["old"]] = first if first not in taken else r["old"]
            else:
                newrel[r["old"]] = first.replace("__init__.py", Path(r["old"]).name)
        else:
            stem = r["old"].removesuffix(".py").replace("/", "_").replace("__init__", "pkg")
            newrel[r["old"]] = first.removesuffix(".py") + "__m_" + stem + ".py"
            mergers[first].append(r["old"])
    else:
        newrel[r["old"]] = first
    taken.add(newrel[r["old"]])
    doc[r["old"]] = r["docstring"]
for rel in exists - set(newrel):
    newrel[rel] = rel
dups = [k for k, v in collections.Counter(newrel.values()).items() if v > 1]
print("collisions", dups)
modmap = {dotted(o): dotted(n) for o, n in newrel.items()}
packages = {dotted(o) for o in exists if o.endswith("__init__.py")}

# symbol renames
sym: dict[tuple[str, str], str] = {}
methods: list[tuple[str, str, str, str]] = []
for r in rows:
    for item in r["renames"].split(";"):
        item = item.strip()
        if ">" not in item:
            continue
        a, b = (x.strip() for x in item.split(">", 1))
        if "." in a:
            methods.append((r["old"], *a.split(".", 1), b.split(".")[-1]))
            continue
        if not a.isidentifier() or not b.isidentifier():
            print("odd rename", r["old"], item)
            continue
        sym[dotted(r["old"]), a] = b


class Unit:
    def __init__(self, path: Path):
        self.path = path
        self.text = path.read_bytes()
        self.edits: list[tuple[int, int, bytes]] = []
        self.tree = ast.parse(self.text)
        self.starts = [0]
        for line in self.text.splitlines(True):
            self.starts.append(self.starts[-1] + len(line))

    def pos(self, line: int, col: int) -> int:
        return self.starts[line - 1] + col

    def span(self, n):
        return self.pos(n.lineno, n.col_offset), self.pos(n.end_lineno, n.end_col_offset)

    def edit(self, s, e, new):
        self.edits.append((s, e, new if isinstance(new, bytes) else new.encode()))

    def apply(self) -> bytes:
        out = self.text
        last = None
        for s, e, new in sorted(set(self.edits), reverse=True):
            if last is not None and e > last:
                print("overlap", self.path, out[s:e], new)
                continue
            out = out[:s] + new + out[e:]
            last = s
        return out


units = {}
for base in ("src", "tests", "docs", "benchmarks", "examples"):
    for p in sorted((ROOT / base).rglob("*.py")):
        units[p] = Unit(p)
unit_of = {dotted(str(p.relative_to(SRC))): u for p, u in units.items() if p.is_relative_to(SRC)}


# top-level definitions of modules
def top_names(tree) -> set[str]:
    out = set()
    for n in ast.walk(tree) if False else tree.body:
        out |= bound_by(n)
    return out


def bound_by(n) -> set[str]:
    if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {n.name}
    if isinstance(n, ast.Assign):
        return {x.id for t in n.targets for x in ast.walk(t) if isinstance(x, ast.Name)}
    if isinstance(n, (ast.AnnAssign, ast.AugAssign)):
        return {n.target.id} if isinstance(n.target, ast.Name) else set()
    if hasattr(ast, "TypeAlias") and isinstance(n, ast.TypeAlias):
        return {n.name.id}
    if isinstance(n, (ast.If, ast.Try, ast.With)):
        return set().union(*(bound_by(c) for c in ast.iter_child_nodes(n) if isinstance(c, ast.stmt)), set())
    return set()


defs = {m: top_names(u.tree) for m, u in unit_of.items()}


def source_of(u, name):
    for n in u.tree.body:
        if name in bound_by(n):
            return ast.dump(n)


manual = json.load(open("moves/manual.json")) if os.path.exists("moves/manual.json") else {}
for key, b in manual.items():
    m, a = key.split(":")
    sym[m, a] = b
    if a == b:
        del sym[m, a]
collisions = []
dropped_same = []
for first, olds in mergers.items():
    owners = collections.defaultdict(list)
    for o in olds:
        m = dotted(o)
        for a in sorted(defs[m]):
            if a == "__all__":
                continue
            owners[sym.get((m, a), a)].append((m, a))
    for new, who in owners.items():
        if len(who) < 2:
            continue
        if len({source_of(unit_of[m], a) for m, a in who}) == 1:
            dropped_same.append((first, new, len(who)))
            continue
        stems = {m: m.rsplit(".", 1)[1] for m, _ in who}
        for m, a in who[1:] if not new.startswith("_") else who[1:]:
            if new.startswith("_"):
                sym[m, a] = f"_{stems[m]}{new}"
            else:
                collisions.append((first, m, a, new))
print("same definitions", dropped_same)
print("public collisions", collisions)
unknown = [(m, a) for (m, a) in sym if a not in defs.get(m, set())]
print("renames of names not defined there:", len(unknown), unknown[:20])
for k in unknown:
    del sym[k]
bad = [(m, a, b) for (m, a), b in sym.items() if b in defs[m]]
print("renames onto existing names:", bad)
for m, a, b in bad:
    del sym[m, a]
# names offered by packages through lazy dictionaries or imports: (package, name) -> (module, name)
offered: dict[tuple[str, str], tuple[str, str]] = {}
strict = set()
for pk in unit_of:
    u = unit_of[pk]
    for n in ast.walk(u.tree):
        if isinstance(n, ast.ImportFrom) and n.module and n.module.startswith("sfumato"):
            for al in n.names:
                offered[pk, al.asname or al.name] = (n.module, al.name)
        if isinstance(n, ast.Dict):
            for k, v in zip(n.keys, n.values):
                if (
                    isinstance(k, ast.Constant)
                    and isinstance(v, ast.Constant)
                    and isinstance(v.value, str)
                    and v.value.startswith("sfumato.")
                ):
                    offered[pk, k.value] = (v.value.split(":")[0], k.value)
                    strict.add((pk, k.value))
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in n.targets):
            strict |= {
                (pk, c.value) for c in ast.walk(n.value) if isinstance(c, ast.Constant) and isinstance(c.value, str)
            }


def resolve(m, a, depth=0):
    while (m, a) in offered and a not in defs.get(m, set()) and depth < 5:
        (m, a), depth = offered[m, a], depth + 1
    return m, a


def new_symbol(m, a):
    return sym.get(resolve(m, a), a)


PUBLIC = {a for (p, a) in strict | set(offered) if p == "sfumato"}
for m, a in list(sym):
    if a in PUBLIC and offered.get(("sfumato", a)) and resolve("sfumato", a) == (m, a):
        print("public kept", m, a)
        del sym[m, a]

for m, a in list(sym):
    for pk in (
        "sfumato.risk",
        "sfumato.entropy",
        "sfumato.utility",
        "sfumato.table",
        "sfumato.schema",
        "sfumato.calibration",
        "sfumato.risk.homogeneity",
        "sfumato.papers",
    ):
        if (pk, a) in strict and resolve(pk, a) == (m, a):
            print("public kept", pk, m, a)
            del sym[m, a]
            break
SKIP = set(tuple(x) for x in json.load(open("moves/skip.json"))) if os.path.exists("moves/skip.json") else set()
for k in SKIP:
    sym.pop(k, None)
clashes = set()


# ---- scopes
class Scope:
    def __init__(self, node, parent, kind):
        self.node, self.parent, self.kind, self.names, self.globals = node, parent, kind, {}, set()


def build(unit: Unit):
    """Return [(Name node, scope)] and bindings per scope: name -> list of ('import', module, name) or ('other',)."""
    uses = []

    def bind(scope, name, what):
        if name in scope.globals:
            s = scope
            while s.parent:
                s = s.parent
            scope = s
        scope.names.setdefault(name, []).append(what)

    def visit(n, scope):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bind(scope, n.name, ("def", n))
            for d in n.decorator_list:
                visit(d, scope)
            for a in [*n.args.posonlyargs, *n.args.args, *n.args.kwonlyargs, n.args.vararg, n.args.kwarg]:
                if a is not None and a.annotation:
                    visit(a.annotation, scope)
            for d in [*n.args.defaults, *n.args.kw_defaults]:
                if d is not None:
                    visit(d, scope)
            if n.returns:
                visit(n.returns, scope)
            inner = Scope(n, scope, "function")
            for a in [*n.args.posonlyargs, *n.args.args, *n.args.kwonlyargs, n.args.vararg, n.args.kwarg]:
                if a is not None:
                    bind(inner, a.arg, ("arg", a))
            for t in getattr(n, "type_params", []):
                bind(inner, t.name, ("other", t))
            for c in n.body:
                visit(c, inner)
        elif isinstance(n, ast.ClassDef):
            bind(scope, n.name, ("def", n))
            for d in [*n.decorator_list, *n.bases, *[k.value for k in n.keywords]]:
                visit(d, scope)
            inner = Scope(n, scope, "class")
            for t in getattr(n, "type_params", []):
                bind(inner, t.name, ("other", t))
            for c in n.body:
                visit(c, inner)
        elif isinstance(n, ast.Lambda):
            inner = Scope(n, scope, "function")
            for d in [*n.args.defaults, *n.args.kw_defaults]:
                if d is not None:
                    visit(d, scope)
            for a in [*n.args.posonlyargs, *n.args.args, *n.args.kwonlyargs, n.args.vararg, n.args.kwarg]:
                if a is not None:
                    bind(inner, a.arg, ("arg", a))
            visit(n.body, inner)
        elif isinstance(n, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            inner = Scope(n, scope, "function")
            for i, g in enumerate(n.generators):
                visit(g.iter, scope if i == 0 else inner)
                visit(g.target, inner)
                for c in g.ifs:
                    visit(c, inner)
            for f in ("elt", "key", "value"):
                if hasattr(n, f):
                    visit(getattr(n, f), inner)
        elif isinstance(n, ast.Import):
            for al in n.names:
                bind(
                    scope,
                    al.asname or al.name.split(".")[0],
                    ("import", al.name if al.asname else al.name.split(".")[0], None, n, al),
                )
        elif isinstance(n, ast.ImportFrom):
            for al in n.names:
                bind(scope, al.asname or al.name, ("from", n.module, al.name, n, al))
        elif isinstance(n, ast.Global):
            scope.globals |= set(n.names)
        elif isinstance(n, ast.Name):
            if isinstance(n.ctx, (ast.Store, ast.Del)):
                s = scope
                bind(s, n.id, ("store", n))
            uses.append((n, scope))
        elif isinstance(n, ast.ExceptHandler):
            if n.name:
                bind(scope, n.name, ("other", n))
            for c in ast.iter_child_nodes(n):
                visit(c, scope)
        elif isinstance(n, (ast.MatchAs, ast.MatchStar)):
            if n.name:
                bind(scope, n.name, ("other", n))
            for c in ast.iter_child_nodes(n):
                visit(c, scope)
        else:
            for c in ast.iter_child_nodes(n):
                visit(c, scope)

    top = Scope(unit.tree, None, "module")
    for c in unit.tree.body:
        visit(c, top)
    return top, uses


def lookup(name, scope):
    s, first = scope, True
    while s is not None:
        if name in s.names and name not in s.globals and (first or s.kind != "class"):
            return s
        s, first = s.parent, False
    return None


def is_submodule(mod, name):
    if (mod, name) in offered and f"{offered[mod, name][0]}.{offered[mod, name][1]}" not in modmap:
        return False
    return f"{mod}.{name}" in modmap and name not in defs.get(mod, set()) and (mod, name) not in strict


longest = sorted(modmap, key=len, reverse=True)
SAFE = {m for m in modmap if m.count(".") >= 2}
WORD = re.compile(r"sfumato(?:\.[A-Za-z_][A-Za-z0-9_]*)+")


def rewrite_dotted(m: re.Match) -> str:
    text = m.group(0)
    parts = text.split(".")
    for k in range(len(parts), 1, -1):
        mod = ".".join(parts[:k])
        if mod in modmap and (k > 2 or modmap[mod] != mod):
            if k == 2 and len(parts) == 2:
                return text  # bare sfumato.release stays the function
            tail = parts[k:]
            if k == 2 and (mod, tail[0]) not in offered and tail[0] not in defs.get(mod, set()):
                return text
            if tail:
                tail[0] = new_symbol(mod, tail[0])
            return ".".join([modmap[mod], *tail])
    return text


PATHS = {o: n for o, n in newrel.items() if o != n}
PATHRE = re.compile(r"(?<![\w/])(src/sfumato/|sfumato/)?((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)")


def rewrite_path(m):
    pre, rel = m.group(1) or "", m.group(2)
    return pre + PATHS[rel] if rel in PATHS else m.group(0)


def rewrite_text(t: str) -> str:
    return PATHRE.sub(rewrite_path, WORD.sub(rewrite_dotted, t))


report = []


def name_token(u: Unit, node) -> int:
    s = u.pos(node.lineno, node.col_offset)
    kw = re.compile(rb"(async\s+def|def|class)\s+")
    m = kw.match(u.text, s)
    return m.end()


for p, u in units.items():
    me = dotted(str(p.relative_to(SRC))) if p.is_relative_to(SRC) else None
    top, uses = build(u)
    by_node = {}

    # imports
    def rel_module(n):
        return n.module

    renamed_bindings = {}  # (id(scope), local) -> new local
    scopes = {id(top): top}
    for _, s in uses:
        while s is not None:
            scopes[id(s)] = s
            s = s.parent
    handled = set()
    for s in list(scopes.values()):
        for local, whats in list(s.names.items()):
            for w in whats:
                if w[0] == "from" and w[1] and w[1].startswith("sfumato") and not is_submodule(w[1], w[2]):
                    nn = new_symbol(w[1], w[2])
                    if nn != w[2] and w[4].asname in (None, w[2]):
                        renamed_bindings[id(s), local] = nn
    if me:
        for (m, a), b in sym.items():
            if m == me:
                renamed_bindings[id(top), a] = b
    newnames = set(renamed_bindings.values())
    allnames = {x for s in scopes.values() for x in s.names} | newnames
    for s in list(scopes.values()):
        for local, whats in list(s.names.items()):
            for w in whats:
                if w[0] == "from" and w[1] and w[1].startswith("sfumato"):
                    mod, name, node, al = w[1:]
                    full = f"{mod}.{name}"
                    if is_submodule(mod, name):  # a submodule is imported
                        newleaf = modmap[full].rsplit(".", 1)[1]
                        if (al.asname is None) and newleaf != name and newleaf not in allnames:
                            renamed_bindings[id(s), local] = newleaf
                    else:
                        nn = new_symbol(mod, name)
                        if nn != name and (al.asname is None or al.asname == name):
                            renamed_bindings[id(s), local] = nn
    if me:
        for (m, a), b in sym.items():
            if m == me:
                renamed_bindings[id(top), a] = b
    # import statements: rewrite whole
    for n in ast.walk(u.tree):
        if (
            isinstance(n, ast.ImportFrom)
            and n.module
            and (n.module == "sfumato" or n.module.startswith("sfumato."))
            and n.level == 0
        ):
            groups = collections.defaultdict(list)
            for al in n.names:
                full = f"{n.module}.{al.name}"
                if is_submodule(n.module, al.name) and not (n.module == "sfumato" and al.name in PUBLIC):
                    par, leaf = modmap[full].rsplit(".", 1)
                    if leaf != al.name and al.asname is None and leaf in allnames:
                        groups[par].append(f"{leaf} as {al.name}")
                        continue
                    groups[par].append(f"{leaf} as {al.asname}" if al.asname and al.asname != leaf else leaf)
                else:
                    newmod = modmap.get(n.module, n.module)
                    nn = new_symbol(n.module, al.name)
                    asn = al.asname
                    if asn == al.name:
                        asn = nn
                    groups[newmod].append(f"{nn} as {asn}" if asn else nn)
            s, e = u.span(n)
            indent = b" " * n.col_offset
            text = ("\n" + indent.decode()).join(
                f"from {mod} import "
                + (
                    ", ".join(names)
                    if len(", ".join(names)) < 70
                    else "(\n" + ",\n".join(indent.decode() + "    " + x for x in names) + ",\n" + indent.decode() + ")"
                )
                for mod, names in groups.items()
            )
            old = u.text[s:e].decode()
            if set(re.split(r"[\s(),]+", old)) != set(re.split(r"[\s(),]+", text)):
                u.edit(s, e, text)
            handled.add(id(n))
        elif isinstance(n, ast.Import):
            for al in n.names:
                if al.name in modmap and modmap[al.name] != al.name and al.name.count(".") >= 1:
                    s, e = u.span(al)
                    u.edit(s, e, modmap[al.name] + (f" as {al.asname}" if al.asname else ""))
    # names
    for n, s in uses:
        home = lookup(n.id, s)
        if home is None:
            continue
        new = renamed_bindings.get((id(home), n.id))
        if new:
            a, b = u.span(n)
            u.edit(a, b, new)
    if me:
        for (m, a), b in sym.items():
            if m == me:
                for w in top.names.get(a, []):
                    if w[0] == "def":
                        t = name_token(u, w[1])
                        u.edit(t, t + len(a), b)
        for n in ast.walk(u.tree):
            if isinstance(n, ast.Global):
                for x in n.names:
                    if (me, x) in sym:
                        report.append(f"global {me} {x}")
            if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in n.targets):
                for c in ast.walk(n.value):
                    if isinstance(c, ast.Constant) and isinstance(c.value, str):
                        nn = new_symbol(me, c.value)
                        if nn != c.value:
                            a, b = u.span(c)
                            u.edit(a, b, f'"{nn}"')
    # new name shadows something else in the file?
    for (sid, old), new in renamed_bindings.items():
        for s in scopes.values():
            if new in s.names and not any(w[0] == "from" and w[2] == old for w in s.names[new]):
                origin = next(
                    (
                        (m, a)
                        for (m, a), b in sym.items()
                        if b == new
                        and a == old
                        and (
                            m == me
                            or any(
                                w[0] == "from" and resolve(w[1], w[2]) == (m, a)
                                for t in scopes.values()
                                for w in t.names.get(old, [])
                            )
                        )
                    ),
                    None,
                )
                if origin:
                    clashes.add(origin)
                report.append(
                    f"clash {origin} {p.relative_to(ROOT)}: {old} -> {new} is bound there as {s.names[new][0][0]}"
                )
                break
    # attributes of modules
    done_attr = set()
    for n in ast.walk(u.tree):
        if isinstance(n, ast.Attribute) and id(n) not in done_attr:
            chain, x = [n.attr], n.value
            while isinstance(x, ast.Attribute):
                chain.append(x.attr)
                x = x.value
            if isinstance(x, ast.Name):
                chain.append(x.id)
                chain = chain[::-1]
                scope = next((s for m, s in uses if m is x), None)
                home = lookup(x.id, scope) if scope else None
                ws = home.names.get(x.id, []) if home else []
                mod = None
                for w in ws:
                    if w[0] == "import":
                        mod = w[1]
                    if w[0] == "from" and w[1] and is_submodule(w[1], w[2]):
                        mod = f"{w[1]}.{w[2]}"
                if mod and mod.startswith("sfumato"):
                    full = mod + "." + ".".join(chain[1:])
                    y = n.value
                    while isinstance(y, ast.Attribute):
                        done_attr.add(id(y))
                        y = y.value
                    if mod == "sfumato":
                        new = WORD.sub(rewrite_dotted, full)
                        if new != full:
                            a, b = u.span(n)
                            u.edit(a, b, new)
                    else:
                        nn = new_symbol(mod, chain[1])
                        if nn != chain[1]:
                            y = n
                            while not isinstance(y.value, ast.Name):
                                y = y.value
                            e = u.pos(y.end_lineno, y.end_col_offset)
                            u.edit(e - len(chain[1]), e, nn)
        if (
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr in ("setattr", "delattr")
            and len(n.args) > 1
        ):
            t, k = n.args[0], n.args[1]
            if isinstance(t, ast.Name) and isinstance(k, ast.Constant) and isinstance(k.value, str):
                scope = next((s for m, s in uses if m is t), None)
                home = lookup(t.id, scope) if scope else None
                for w in home.names.get(t.id, []) if home else []:
                    mod = w[1] if w[0] == "import" else f"{w[1]}.{w[2]}" if w[0] == "from" else None
                    if mod in modmap and new_symbol(mod, k.value) != k.value:
                        a, b = u.span(k)
                        u.edit(a, b, f'"{new_symbol(mod, k.value)}"')
    # annotations as strings: cast("Name", ...)
    local_new = {old: new for (_, old), new in renamed_bindings.items()}
    for n in ast.walk(u.tree):
        if (
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Name)
            and n.func.id in ("cast", "TypeVar")
            and n.args
            and isinstance(n.args[0], ast.Constant)
            and isinstance(n.args[0].value, str)
        ):
            a, b = u.span(n.args[0])
            raw = u.text[a:b].decode()
            new = re.sub(r"\b\w+\b", lambda m: local_new.get(m.group(0), m.group(0)), raw)
            if new != raw:
                u.edit(a, b, new)
    for n in ast.walk(u.tree):
        if isinstance(n, ast.Subscript) and not (isinstance(n.value, ast.Name) and n.value.id == "Literal"):
            for c in ast.walk(n.slice):
                if (
                    isinstance(c, ast.Constant)
                    and isinstance(c.value, str)
                    and re.fullmatch(r"[A-Za-z_][\w\[\], .|]*", c.value)
                ):
                    a, b = u.span(c)
                    raw = u.text[a:b].decode()
                    new = re.sub(r"\b[A-Z]\w+\b", lambda m: local_new.get(m.group(0), m.group(0)), raw)
                    if new != raw:
                        u.edit(a, b, new)
    # strings with dotted names, docstrings too
    for n in ast.walk(u.tree):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and ("sfumato" in n.value or ".py" in n.value):
            a, b = u.span(n)
            raw = u.text[a:b].decode()
            new = rewrite_text(raw)
            if new != raw:
                u.edit(a, b, new)
    if me in packages and me:  # keys of lazy dictionaries
        for n in ast.walk(u.tree):
            if isinstance(n, ast.Dict):
                for k, v in zip(n.keys, n.values):
                    if (
                        isinstance(k, ast.Constant)
                        and isinstance(v, ast.Constant)
                        and isinstance(v.value, str)
                        and v.value.startswith("sfumato.")
                    ):
                        nn = new_symbol(v.value.split(":")[0], k.value)
                        if nn != k.value:
                            a, b = u.span(k)
                            u.edit(a, b, f'"{nn}"')
if clashes:
    json.dump(sorted(map(list, clashes | SKIP)), open("moves/skip.json", "w"))
    print("dropped", len(clashes), "again")
    os.execv(sys.executable, [sys.executable, *sys.argv])
print("report", len(report))
print("\n".join(report[:80]))

# ---- comments and other text
out = {}
for p, u in units.items():
    text = u.apply()
    lines = text.decode().split("\n")
    lines = [rewrite_text(l) if "#" in l and "sfumato" in l else l for l in lines]
    out[p] = "\n".join(lines)
# first docstrings
for p, u in units.items():
    if not p.is_relative_to(SRC):
        continue
    rel = str(p.relative_to(SRC))
    new = doc.get(rel)
    if not new:
        continue
    body = out[p]
    m = re.match(r'(r?)"""(.*?)"""', body, re.S)
    if m and "__m_" not in newrel[rel]:
        inside = m.group(2)
        first, sep, rest = inside.partition("\n\n")
        if len(new) > 112:
            report.append(f"long docstring {rel}")
        out[p] = m.group(1) + '"""' + new + (sep + rest if sep else "") + '"""' + body[m.end() :]
for p in units:
    if p.is_relative_to(SRC):
        rel = str(p.relative_to(SRC))
        dest = SRC / newrel[rel]
        if newrel[rel] != rel:
            dest.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "-C", str(ROOT), "mv", "-f", str(p), str(dest)], check=True)
        dest.write_text(out[p])
    elif out[p].encode() != units[p].text:
        p.write_text(out[p])
for d in sorted({(SRC / n).parent for n in newrel.values()}):
    while d != SRC.parent:
        if not (d / "__init__.py").exists():
            (d / "__init__.py").write_text(f'"""{d.name}."""\n')
            print("new package", d.relative_to(SRC))
        d = d.parent
for pat in (
    "**/*.md",
    "**/*.ipynb",
    "**/*.toml",
    "**/*.txt",
    "Makefile",
    ".ci/run",
    "src/**/*.html",
    "src/**/*.toml",
    "tests/**/*.json",
):
    for p in ROOT.glob(pat):
        if ".venv" in p.parts or p.name == "CHANGELOG.md" or ".git" in p.parts or not p.is_file():
            continue
        t = p.read_text()
        n = rewrite_text(t)
        if n != t:
            p.write_text(n)
import json

json.dump(
    {
        "mergers": mergers,
        "newrel": newrel,
        "doc": {r["new"].split(";")[0]: r["docstring"] for r in rows},
        "methods": methods,
    },
    open("moves/state.json", "w"),
    indent=1,
)
# data files beside modules
for q in SRC.rglob("*"):
    if q.is_file() and q.suffix not in (".py", ".pyc"):
        pass
