# SPDX-License-Identifier: LGPL-3.0-or-later
"""What Prometheus saw in the lab, as a test of our rules that needs no lab: promtool test rules FILE."""

from itertools import groupby

HEAD = """# SPDX-License-Identifier: LGPL-3.0-or-later
# Made by `bench/run alerts` ({origin}): the waiting of its eight clients, as a Prometheus scraped it, and which alerts fired within each cause.
rule_files: [../../packaging/prometheus/canfs.rules.yml]
evaluation_interval: {interval}s
tests:
  - interval: {interval}s
    input_series:
"""
SERIES = """      - series: 'canfs_client_imposed_waiting_ratio{{instance="nfs",server="ganesha",client="{client}",cause="{cause}"}}'
        values: '{values}'
"""
CHECK = """      - expr: count by (alertname, client) (count_over_time(ALERTS{{alertstate="firing"}}[{seconds}s])) # {cause}
        eval_time: {at}s
        exp_samples: [{samples}]
"""
SAMPLE = """{{labels: '{{alertname="{alert}"{client}}}', value: 1}}"""
LEAST = 0.01  # seconds in a second: a series that never has more makes no difference


def values(points, begin, end, interval):
    """promtool's notation: a value or `_` for none, and how often it comes again. Prometheus itself marks a series that has gone as stale."""
    known = {round((time - begin) / interval): f"{value:.3f}".rstrip("0").rstrip(".") for time, value in points}
    words = [known.get(step) or ("stale" if step - 1 in known else "_") for step in range(round((end - begin) / interval) + 1)]
    for word, same in groupby(words):
        count = len(list(same))
        yield word if count == 1 else f"_x{count}" if word == "_" else f"{word}x{count - 1}"


def test(origin, series, causes, interval):
    """series: {(client, cause): [(time, value)]}; causes: [(name, from, until, {alert: client})]; times of one clock."""
    shown = {key: points for key, points in series.items() if max(value for _, value in points) > LEAST}
    begin = min(points[0][0] for points in shown.values())
    end = max(points[-1][0] for points in shown.values())
    text = HEAD.format(origin=origin, interval=interval)
    for (client, cause), points in sorted(shown.items()):
        text += SERIES.format(client=client, cause=cause, values=" ".join(values(points, begin, end, interval)))
    text += "    promql_expr_test:\n"
    for name, since, until, fired in causes:
        samples = ", ".join(SAMPLE.format(alert=alert, client=f', client="{client}"' if client else "") for alert, client in fired.items())
        text += CHECK.format(seconds=round(until - since), cause=name, at=round(until - begin) // interval * interval, samples=samples)
    return text
