cd moves/clone
python3 - <<"P"
import re
p="pyproject.toml";t=open(p).read();l="\"src/sfumato/schema/rule_backends.py\" = [\"D102\"]\n";i=t.find(l);t=t[:i+len(l)]+t[i+len(l):].replace(l,"");open(p,"w").write(t)
P
# packages with nothing but a docstring in folders that no longer hold modules
python3 - <<'P'
from pathlib import Path
import subprocess, ast
src=Path('src/sfumato')
for d in sorted((p for p in src.rglob('*') if p.is_dir()), key=lambda p:-len(p.parts)):
    py=[q for q in d.iterdir() if q.suffix=='.py']
    sub=[q for q in d.iterdir() if q.is_dir() and q.name!='__pycache__']
    if [q.name for q in py]==['__init__.py'] and not sub and not [q for q in d.iterdir() if q.is_file() and q.suffix!='.py']:
        t=ast.parse(py[0].read_text())
        if len(t.body)<=1: subprocess.run(['git','rm','-qf',str(py[0])]); 
        else: print('left', d)
    if d.exists() and not any(q.name!='__pycache__' for q in d.iterdir()):
        subprocess.run(['rm','-rf',str(d)])
P
git mv src/sfumato/papers/two_stage/networks.json src/sfumato/papers/two_stage/networks.json 2>/dev/null
.venv/bin/ruff check src tests docs benchmarks examples --select I,F401,F811 --fix -q | tail -3
.venv/bin/ruff format -q src tests docs benchmarks examples
.venv/bin/ruff check src tests docs benchmarks examples --output-format concise | tail -60
