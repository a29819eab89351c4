#!/usr/bin/python3
"""Check who includes whom under src/ against the table of docs/ARCHITECTURE.md. Usage: check_layers.py ROOT

A row of the table reads `| folder, folder | folder folder |`: those on the left may include those on the right. Every
folder may include `base` and itself; "all" and "nothing" are words of the table.
"""
import pathlib
import re
import sys

# The outside library that only one folder may see.
ONLY_IN = {"llvm/": "codegen", "llvm-c/": "codegen", "onnx/": "frontend", "google/protobuf/": "frontend",
           "xgboost/": "costmodel", "sqlite3.h": "records", "CLI/": "tools"}


def read_table(page):
    """folder -> the set of folders that it may include."""
    text = page.read_text()
    rows = re.search(r"\| folder \| may include \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text)
    if not rows:
        sys.exit(f"{page}: has no table '| folder | may include |'")
    table = {}
    for row in rows.group(1).splitlines():
        folders, others = (cell.strip() for cell in row.strip("|").split("|"))
        for folder in folders.split(", "):
            table[folder] = set() if others.startswith("nothing") else set(others.split())
    for folder, others in table.items():
        if others == {"all"}:
            table[folder] = set(table)
    return table


def wrong_includes(path, name, folder, allowed, table):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#include\s+(["<])([^">]+)[">]', line)
        if not found:
            continue
        kind, header = found.groups()
        other = header.split("/")[0]
        if kind == '"' and "/" in header and other in table and other not in allowed:
            yield f"{name}:{number}: {folder} may not include {other}"
        for prefix, home in ONLY_IN.items():
            if header.startswith(prefix) and folder != home:
                yield f"{name}:{number}: only {home} may include <{header}>"


def main(root):
    page, src = root / "docs" / "ARCHITECTURE.md", root / "src"
    table = read_table(page)
    wrong = [f"{page}: src/{folder} does not exist" for folder in table if not (src / folder).is_dir()]
    for folder in sorted({path.relative_to(src).parts[0] for path in src.rglob("*.[ch]*")}):
        if folder not in table:
            wrong.append(f"src/{folder} is missing from the table of {page}")
            continue
        for path in sorted((src / folder).rglob("*.[ch]*")):
            wrong += wrong_includes(path, path.relative_to(root), folder, table[folder] | {"base", folder}, table)
    print("\n".join(wrong) or "layers: every include is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
