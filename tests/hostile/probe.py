import sys, tempfile, importlib
from pathlib import Path
from tests.hostile.case import Runner, _find_problem, _list_entries

r = Runner()
bad = 0
for name in sys.argv[1:]:
    name, _, pick = name.partition(":")
    for case in importlib.import_module(f"tests.hostile.{name}").CASES:
        if pick and pick not in case.name:
            continue
        with tempfile.TemporaryDirectory() as f:
            f = Path(f)
            case.lay_out(f)
            before = _list_entries(f)
            o = r.run(case.words, f)
            p = _find_problem(case, o, _list_entries(f), before)
            if p or pick:
                bad += 1
                print(
                    f"-- {name} | {case.name}: {p} [{o.seconds:.1f}s {o.peak >> 20}MiB code {o.code}]",
                    o.said[:700] if pick else o.said[-500:].replace("\n", " / "),
                )
print("bad", bad)
r.close()
