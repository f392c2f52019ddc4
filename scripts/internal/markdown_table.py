"""Prints the rows of a benchmark's JSON files as a Markdown table, for docs/measurements.

    markdown_table.py FILE.json... [--columns a,b,c] [--where key=value]...
                      [--across KEY --value NAME]

With `--across` there is a column for each value of KEY that shows NAME.
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


def spread(rows, columns, across, value):
    """Gives a row for each combination of `columns`, with a column for each value of `across`."""
    keys = list(dict.fromkeys(str(row[across]) for row in rows))
    lines = {}
    for row in rows:
        line = lines.setdefault(tuple(str(row[c]) for c in columns), {c: row[c] for c in columns})
        line[str(row[across])] = row[value]
    return [line | {key: line.get(key) for key in keys} for line in lines.values()], columns + keys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    parser.add_argument("--columns")
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--across")
    parser.add_argument("--value")
    options = parser.parse_args()
    rows = [row for file in options.files for row in json.loads(file.read_text())["rows"]]
    for condition in options.where:
        key, _, value = condition.partition("=")
        rows = [row for row in rows if str(row[key]) == value]
    if not rows:
        raise SystemExit("there are no such rows")
    columns = options.columns.split(",") if options.columns else list(rows[0])
    if options.across:
        rows, columns = spread(rows, columns, options.across, options.value)
    print(f"| {' | '.join(columns)} |")
    print(f"|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(text(row[column]) for column in columns)} |")


if __name__ == "__main__":
    main()
