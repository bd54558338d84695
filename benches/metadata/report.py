#!/usr/bin/env python3
"""The table of `make bench-metadata`: stock, ours, target, and how many times less ours takes (or, for rates, does more)."""
import json
import sys

# Of several rounds the best one counts: what disturbs a measurement only ever adds to it.
ROWS = [  # what, scenario, value, unit, target, digits; a target without a number is only told
    ("first start, base: wall", "base", "wall_s", "s", 1.5),
    ("first start, base: CPU", "base", "cpu_s", "s", 1.5),
    ("first start, base: peak RSS", "base", "peak_rss_mb", "MB", "1/5"),
    ("memory per live segment: heap", "base", "heap_bytes_per_segment", "B", None),
    ("memory per live segment: all (RSS)", "base", "rss_bytes_per_segment", "B", None),
    ("first start, long: wall", "long", "wall_s", "s", 10),
    ("first start, long: CPU", "long", "cpu_s", "s", 13),
    ("first start, long: peak RSS", "long", "peak_rss_mb", "MB", "1/5"),
    ("restart with checkpoint: wall", "restart", "wall_s", "s", 1),
    ("restart with checkpoint: CPU", "restart", "cpu_s", "s", None),
    ("first start, compacted: wall", "compacted", "wall_s", "s", 0.4),
    ("first start, compacted: CPU", "compacted", "cpu_s", "s", 0.5),
    ("add + update, one by one: p50", "steady-1", "p50_ms", "ms", 12),
    ("add + update, one by one: p99", "steady-1", "p99_ms", "ms", 25),
    ("100 in flight: cycles", "steady-100", "cycles_per_s", "/s", None),
    ("2,000 in flight: cycles", "steady-2000", "cycles_per_s", "/s", 17000),
    ("2,000 in flight: CPU of a cycle", "steady-2000", "cpu_us", "us", 60),
    ("one more partition: ready", "churn", "ready_ms", "ms", 50),
    ("  neighbour's add before", "churn", "neighbour_before_ms", "ms", None),
    ("  neighbour's add meanwhile", "churn", "neighbour_meanwhile_ms", "ms", None),
    ("find", "lookup", "find_ns", "ns", "x2"),
    ("highest offset", "lookup", "highest_ns", "ns", "x2"),
    ("list of an epoch, per segment", "lookup", "list_epoch_ns", "ns", "x2"),
    ("list of all, per segment", "lookup", "list_all_ns", "ns", "x2"),
]


def read(path):
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("{"):
                result = json.loads(line)
                found.setdefault((result["scenario"], result["manager"]), []).append(result)
    return found


def shown(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main():
    found = read(sys.argv[1])

    def value(scenario, manager, name, is_rate):
        values = [result[name] for result in found.get((scenario, manager), [])]
        return (max if is_rate else min)(values) if values else None

    print(f"{'':36} {'stock':>10} {'ours':>10} {'target':>10}  stock/ours")
    for what, scenario, name, unit, target in ROWS:
        is_rate = unit == "/s"
        stock, ours = (value(scenario, manager, name, is_rate) for manager in ("stock", "ours"))
        if stock is None and ours is None:
            continue
        if target in ("1/5", "x2"):
            target = stock and (stock / 5 if target == "1/5" else stock * 2)
        ratio = f"{(ours / stock if is_rate else stock / ours):.1f}" if stock and ours else "-"
        met = ""
        if target and ours:
            met = "" if (ours >= target if is_rate else ours <= target) else "  missed"
        print(f"{what:36} {shown(stock):>10} {shown(ours):>10} {shown(target):>10}  {ratio:>6} {unit}{met}")
    for scenario in ("bytes-unkeyed", "bytes-compacted"):
        for (name, manager), results in found.items():
            if name == scenario:
                last = results[-1]
                print(f"{scenario} ({manager}): {last['bytes'] / 1e6:.1f} MB", end="")
                if "live_bytes" in last:
                    ratio = last["bytes"] / last["live_bytes"]
                    missed = "" if ratio <= 1.05 else "  missed"
                    print(f", {ratio:.3f} of the live ones' {last['live_bytes'] / 1e6:.1f} MB (to reach: 1.05){missed}", end="")
                print()


main()
