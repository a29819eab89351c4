#!/usr/bin/env python3
"""Check who includes whom under src/ (the table of docs/ARCHITECTURE.md). Usage: check_layers.py SRC"""
import pathlib
import re
import sys

ALLOWED = {
    "base": "", "target": "", "graph": "", "runtime": "",
    "loop": "graph",
    "bench": "graph",
    "ops": "graph loop",
    "frontend": "graph ops",
    "passes": "graph loop ops target",
    "schedule": "loop graph target",
    "codegen": "loop graph target runtime",
    "costmodel": "loop graph target schedule",
    "records": "schedule loop graph target",
    "measure": "loop graph target schedule codegen runtime records",
    "search": "schedule costmodel measure records loop graph target",
    "package": "graph loop ops passes schedule records codegen runtime target",
    "tools": "*",
}
# The outside library that only one folder may see.
ONLY_IN = {"llvm/": "codegen", "llvm-c/": "codegen", "onnx/": "frontend", "google/protobuf/": "frontend",
           "xgboost/": "costmodel", "sqlite3.h": "records", "CLI/": "tools"}


def main(src):
    wrong = []
    for path in sorted(pathlib.Path(src).rglob("*.[ch]*")):
        folder = path.relative_to(src).parts[0]
        allowed = ALLOWED[folder].split() + ["base", folder]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r'\s*#include\s+(["<])([^">]+)[">]', line)
            if not found:
                continue
            kind, name = found.groups()
            other = name.split("/")[0]
            if kind == '"' and "/" in name and other in ALLOWED and "*" not in allowed and other not in allowed:
                wrong.append(f"{path}:{number}: {folder} may not include {other}")
            for prefix, home in ONLY_IN.items():
                if name.startswith(prefix) and folder != home:
                    wrong.append(f"{path}:{number}: only {home} may include <{name}>")
    print("\n".join(wrong) or "layers: every include is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
