# SPDX-License-Identifier: LGPL-3.0-or-later
"""doc/results.md and tables of other pages, made of rows of results (bench/lab/report.py). Text in, text out."""

import re

from bench.lab.report import number

HEAD = """# Results

Made by `bench/report` from what `bench/run` has measured (`doc/results/*.json`); nothing here is written by hand but what the authors
saw, and notes. `sudo bench/report --measure` measures what is missing, and goes on where it was stopped. A cell is the median, and
the least and the most of n runs. The disk is a modelled one (bench/README.md says what of it was checked): `hdd-ncq` is a SATA disk
of 7200 rpm as Debian sets it up, `hdd` the same without tagged queueing, `ssd` a SATA flash disk. Clients are Linux 6.1, the server
is NFS-Ganesha 4.3 with 512 MB; both share the processors of one machine: compare columns, not machines.
"""
WORSE_SHARE = 0.03   # of stock's; less is noise
LESS_IS_BETTER = re.compile(r"seconds|^p50|^p99|^max|^close_|^write_max|^waste|peak_over_mean|blocked_writes|^cpu_per|^writer_|^flushes")
MORE_IS_BETTER = re.compile(r"^throughput|_per_s$|^hit_rate|^bytes$|first_block_seconds|^of_limit")


def cell(row):
    if row is None:
        return "–"
    text = number(row["median"])
    return text if row["min"] == row["max"] else f"{text} ({number(row['min'])} … {number(row['max'])})"


def chosen(rows, shown):
    found = [row for row in rows if (not shown.metrics or row["metric"] in shown.metrics)
             and (not shown.cases or row["case"].startswith(shown.cases))]
    if not found:
        raise ValueError(f"{shown.measurement} has no {shown.metrics} of {shown.cases}")
    return found


def table(rows):
    """A line per case and metric, a column per variant."""
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    lines = dict.fromkeys((row["case"], row["metric"], row["unit"], row["device"]) for row in rows)
    cells = {(row["case"], row["metric"], row["device"], row["variant"]): row for row in rows}
    text = [f"| case | metric | {' | '.join(variants)} | n | disk |", "|---|---|" + "---|" * (len(variants) + 2)]
    for case, metric, unit, device in lines:
        found = [cells.get((case, metric, device, variant)) for variant in variants]
        runs = sorted({row["n"] for row in found if row})
        text.append(f"| {case} | {metric} ({unit}) | {' | '.join(map(cell, found))} | {', '.join(map(str, runs))} | {device} |")
    return "\n".join(text)


def when(result):
    measured = result.get("measured")
    return ", {date}, commit {commit}, {minutes} min".format(**measured) if measured else ""


def entry_text(entry, commands, results, pictures):
    parts = [f"### {entry.title}", entry.saw]
    for shown in entry.shown:
        result = results.get(shown.measurement)
        parts.append(f"`{commands[shown.measurement]}`" + (when(result) if result else ": not measured yet."))
        if result:
            parts.append(table(chosen(result["rows"], shown)))
    if entry.picture and (pictures / entry.picture).exists():
        parts.append(f"![{entry.title}](results/{entry.picture})")
    return "\n\n".join(parts + [entry.note] * bool(entry.note))


def is_worse(stock, canfs, metric):
    """By more than noise, in the median."""
    margin = WORSE_SHARE * abs(stock["median"])
    if LESS_IS_BETTER.search(metric) and not MORE_IS_BETTER.search(metric):
        return canfs["median"] > stock["median"] + margin
    return bool(MORE_IS_BETTER.search(metric)) and canfs["median"] < stock["median"] - margin


def worse(results):
    """Rows of stock and canfs where canfs is worse, of all measurements."""
    found = []
    for name, result in results.items():
        cells = {(row["case"], row["metric"], row["device"], row["variant"]): row for row in result["rows"]}
        for (case, metric, device, variant), row in cells.items():
            stock = cells.get((case, metric, device, "stock"))
            if variant == "canfs" and stock and is_worse(stock, row, metric):
                found += [other | {"case": f"{name}: {case}"} for other in (stock, row)]
    return found


def page(sections, measurements, results, pictures):
    """The whole of it; pictures: a directory."""
    commands = {m.name: " ".join(("bench/run", m.experiment, *m.arguments)) for m in measurements}
    parts = [HEAD]
    for section in sections:
        parts.append(f"## {section.title}")
        parts += [entry_text(entry, commands, results, pictures) for entry in section.entries]
    rows = worse(results)
    parts += ["## What canfs makes worse", f"Every median above and of the same measurements that is worse than stock's by more than "
              f"{WORSE_SHARE:.0%}, whether or not the spread allows to say so.", table(rows) if rows else "Nothing."]
    return "\n\n".join(part.strip() for part in parts) + "\n"


MARK = re.compile(r"(<!-- results: (?P<name>[\w-]+) -->\n).*?(?=<!-- end of results -->)", re.DOTALL)


def fill(text, tables, results):
    """text with what stands between its marks made anew, of tables (bench/papers.py). One whose results are missing stays as it is."""
    def replace(match):
        wanted = tables[match["name"]]
        if any(number.measurement not in results for _, numbers in wanted.lines for number in numbers):
            return match[0]
        return match[1] + "\n".join(filled(wanted, results)) + "\n"
    return MARK.sub(replace, text)


def filled(wanted, results):
    yield f"| {' | '.join(wanted.head)} |"
    yield "|---" * len(wanted.head) + "|"
    for label, numbers in wanted.lines:
        yield f"| {label} | {' | '.join(shown(number, results[number.measurement]['rows']) for number in numbers)} |"


def shown(wanted, rows):
    medians = [row["median"] for row in rows if (row["case"], row["metric"], row["variant"]) == (wanted.case, wanted.metric, wanted.variant)]
    return wanted.form.format(medians[0] * wanted.factor) if medians else "–"
