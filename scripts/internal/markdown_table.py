"""Prints the rows of a benchmark's JSON file as a Markdown table, for docs/performance.md.

    markdown_table.py FILE.json [--columns a,b,c] [--where key=value]...
"""

import argparse
import json
import pathlib


def text(cell):
    if cell is None:
        return "-"
    if isinstance(cell, float):
        if cell and abs(cell) < 1e-3:
            return f"{cell:.1e}"
        return f"{cell:.3f}" if cell < 10 else f"{cell:.1f}"
    return str(cell)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--columns")
    parser.add_argument("--where", action="append", default=[])
    options = parser.parse_args()
    rows = json.loads(options.file.read_text())["rows"]
    for condition in options.where:
        key, _, value = condition.partition("=")
        rows = [row for row in rows if str(row[key]) == value]
    if not rows:
        raise SystemExit(f"{options.file} has no such rows")
    columns = options.columns.split(",") if options.columns else list(rows[0])
    print(f"| {' | '.join(columns)} |")
    print(f"|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(text(row[column]) for column in columns)} |")


if __name__ == "__main__":
    main()
