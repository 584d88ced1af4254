# SPDX-License-Identifier: LGPL-3.0-or-later
"""A picture per case of prices, as CA-NFS Figure 5: what was served on the left, the price on the right."""

from bench.lab.report import RESULTS_DIRECTORY


def rates(pairs, scale=1.0):
    """From [(seconds, count since the entry before)] to the seconds and counts per second."""
    times, values, last = [], [], None
    for seconds, count in pairs:
        if last is not None and seconds > last:
            times.append(seconds)
            values.append(count * scale / (seconds - last))
        last = seconds
    return times, values


def growth(samples, name):
    """[(seconds, growth of a counter)]"""
    pairs, last = [], None
    for sample in samples:
        pairs.append((sample["seconds"], sample[name] - last if last is not None else 0))
        last = sample[name]
    return pairs


def together(clients):
    """[(second, reads of all clients in it)]"""
    sums = {}
    for client in clients:
        for at, count in client:
            sums[int(at)] = sums.get(int(at), 0) + count
    return sorted(sums.items())


def plot_network(axes, trial, block_bytes):
    times, values = rates(growth(trial.server, "sent_bytes"), 8e-6)
    axes.plot(times, values, label="server, all of the wire", color="tab:red")
    per_client = {}
    for client in trial.clients:
        for at, count in client:
            per_client.setdefault(int(at), []).append((id(client), count))
    series = [(second, sum(c for _, c in items) / len({who for who, _ in items}) * block_bytes * 8e-6)
              for second, items in sorted(per_client.items())]
    axes.plot(*zip(*series), label="client, mean", color="tab:gray")
    axes.set_ylabel("Mbit/s")


def plot_memory(axes, trial, block_bytes):
    reads = together(trial.clients)
    disk = dict.fromkeys((int(second) for second, _ in reads), 0)
    for second, count in growth(trial.server, "disk_read_bytes"):
        if int(second) in disk:
            disk[int(second)] += count
    series = [(second, max(0.0, 1 - disk[int(second)] / (count * block_bytes)))
              for second, count in reads if count > 0]
    axes.plot(*zip(*series), color="tab:red", label="reads served from the server's cache")
    begins = [trial.case.stair(number)[0] for number in range(len(trial.case.loads))]
    axes.step([*begins, trial.case.end()], [*trial.case.loads, trial.case.loads[-1]], where="post",
              color="tab:gray", linestyle=":", label="of an LRU cache as large")
    axes.set_ylabel("hit rate")
    axes.set_ylim(-0.02, 1.05)


def plot_disk(axes, trial, _):
    axes.plot(*zip(*together(trial.clients)), color="tab:gray", label="clients, all")
    axes.set_ylabel("reads/s")
    times, values = rates(growth(trial.server, "disk_read_wait_msec"), 1e-3)
    right = axes.twinx()
    right.plot(times, values, color="tab:red", alpha=0.7)
    right.set_ylabel("mean queue at the disk", color="tab:red")


def png(trial, path, block_bytes):
    """Raises ImportError without matplotlib."""
    import matplotlib  # noqa: PLC0415: optional
    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    case = trial.case
    figure, (load, price) = pyplot.subplots(1, 2, sharex=True, figsize=(11, 4),
                                            constrained_layout=True)
    {"network": plot_network, "memory": plot_memory, "disk": plot_disk, "backend": plot_disk}[case.name](
        load, trial, block_bytes)
    samples = [s for s in trial.prices if s.get("write") is not None and 0 <= s["seconds"] <= case.end()]
    price.plot([s["seconds"] for s in samples], [s["write"] for s in samples], color="tab:blue",
               label=f"price of a write ({case.name})")
    price.set_ylabel("price")
    price.set_ylim(-0.02, 1.05)
    for number, value in enumerate(case.loads):
        begin, _ = case.stair(number)
        for axes in (load, price):
            axes.axvline(begin, color="tab:gray", linewidth=0.5, linestyle=":")
        price.text(begin, 1.0, f" {value:g}", fontsize="x-small", va="top")
    price.axvline(case.step()[0], color="tab:green", linewidth=0.8, linestyle="--", label="step")
    for axes in (load, price):
        axes.set_xlabel("seconds")
        axes.grid(alpha=0.3)
        axes.legend(loc="center left", fontsize="small")
    figure.suptitle(f"prices/{case.name} (CA-NFS Figure 5), load: {case.what}")
    figure.savefig(path, dpi=110)


def save(trials, block_bytes):
    """One picture per trial; says where they are, or why there are none."""
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    paths = []
    for trial in trials:
        path = RESULTS_DIRECTORY / f"prices-{trial.case.name}.png"
        try:
            png(trial, path, block_bytes[trial.case.name])
        except ImportError as error:
            return f"pictures: skipped: {error}"
        paths.append(str(path))
    return f"pictures: {', '.join(paths)}"
