#!/usr/bin/env python3
"""The table of `make bench-storage`: what a widely used plugin takes, the floor (the same bytes by bare tools in this run), ours, target."""
import json
import sys

# The peer: Aiven's tiered storage plugin 1.x, measured earlier on this kind of machine (2 cores) through the same proxy with the
# same segments; in brackets with its best settings instead of its defaults.
# A target is a number, or a share of the floor ("90%"). On a machine that is busy with other things all that takes processor
# time takes more of it; what ours takes in floors then tells more than the target.
AT_MOST, AT_LEAST = "<=", ">="
ROWS = [  # what, peer, floor, ours, unit, sense, target
    ("copy over https, plain: CPU", "3.9", ("raw-near-put", "cpu_s_per_gib"), ("near-copy", "cpu_s_per_gib"), "s/GiB", AT_MOST, 1.0),
    ("  zstd 3 + AES: CPU", "8.3", ("bare", "copy_s"), ("sealed-copy", "cpu_s_per_gib"), "s/GiB", AT_MOST, 6.5),
    ("  compressed by the producer, zstd + AES: CPU", "19.8", ("bare", "producer_s"), ("producer-copy", "cpu_s_per_gib"), "s/GiB", AT_MOST, 1.2),
    ("copy with latency, one at a time", "45-59", ("raw-far-put", "mib_s"), ("far-copy", "mib_s"), "MiB/s", AT_LEAST, "90%"),
    ("sequential read, cold", "9.7 (92)", ("raw-far-get", "mib_s"), ("far-seq", "mib_s"), "MiB/s", AT_LEAST, 175),
    ("  bytes fetched per byte", "4.97 (0.99)", 1, ("far-seq", "down_per_byte"), "", AT_MOST, 1.05),
    ("  CPU, plain", "13.7 (5.6)", ("raw-far-get", "cpu_s_per_gib"), ("far-seq", "cpu_s_per_gib"), "s/GiB", AT_MOST, 1.2),
    ("  CPU, plain, without latency", "", ("raw-near-get", "cpu_s_per_gib"), ("near-seq", "cpu_s_per_gib"), "s/GiB", AT_MOST, 1.2),
    ("  CPU, zstd 3 + AES", "44 (11.5)", ("bare", "read_s"), ("sealed-seq", "cpu_s_per_gib"), "s/GiB", AT_MOST, 2.6),
    ("random reads of 1 MiB, cold: p50", "95 (250)", ("raw-far-rand", "p50_ms"), ("far-rand", "p50_ms"), "ms", AT_MOST, 40),
    ("  bytes fetched per byte", "4.9 (15.5)", 1, ("far-rand", "down_per_byte"), "", AT_MOST, 1.2),
    ("16 readers, cold: p99", "800 (4000)", ("raw-far-readers", "p99_ms"), ("far-readers", "p99_ms"), "ms", AT_MOST, 250),
    ("  all together", "46 (27)", ("raw-far-readers", "mib_s"), ("far-readers", "mib_s"), "MiB/s", AT_LEAST, 80),
    ("warm memory cache", "565-1270", None, ("cached-again", "mib_s"), "MiB/s", AT_LEAST, 565),
    ("  p50", "under 1", None, ("cached-again", "p50_ms"), "ms", AT_MOST, 1),
    ("first read of a segment: GETs", "2", 1, ("far-first", "s3_req_GET"), "", AT_MOST, 1),
    ("  its four indexes: GETs", "4", 1, ("far-index", "s3_req_GET"), "", AT_MOST, 1),
    # Ten copies share what `upload.memory.bytes.max` has by default; 4 parts of 8 MiB each would be 320 MiB.
    ("10 copies at once: memory", "620-1180", None, ("memory-copies", "memory_rise_mib"), "MiB", AT_MOST, 256 + 64),
]


def read(path):
    found, failures = {}, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("{"):
                continue
            result = json.loads(line)
            if "first_error" in result:
                failures.append(f"{result['scenario']}: {result['errors']} failed, the first: {result['first_error']}")
            if result["bytes"]:
                result["down_per_byte"] = result.get("s3_bytes_down", 0) / result["bytes"]
            found[result["scenario"]] = result
    add_sealed_floors(found)
    return found, failures


def add_sealed_floors(found):
    """What a sealed GiB takes by bare tools: zstd and AES of this run, and sending or getting what is left of it."""
    if not {"bare", "raw-near-put", "raw-near-get"} <= found.keys():
        return
    bare, put, get = found["bare"], found["raw-near-put"]["cpu_s_per_gib"], found["raw-near-get"]["cpu_s_per_gib"]
    bare["copy_s"] = bare["zstd_s"] + (bare["aes_s"] + put) / bare["ratio"]
    bare["read_s"] = bare["unzstd_s"] + (bare["aes_s"] + get) / bare["ratio"]
    bare["producer_s"] = bare["aes_s"] + put


def shown(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main():
    found, failures = read(sys.argv[1])

    def value(source):
        if source is None or isinstance(source, int):
            return source
        scenario, name = source
        return found[scenario].get(name, 0) if scenario in found else None

    missed = 0
    print(f"{'':46} {'peer':>12} {'floor':>8} {'ours':>8} {'in floors':>9} {'target':>9}")
    for what, peer, floor, ours, unit, sense, target in ROWS:
        floor, ours = value(floor), value(ours)
        if target == "90%":
            target = floor and 0.9 * floor
        verdict = ""
        if ours is None:
            verdict = "not measured"
        elif target:
            verdict = "met" if (ours <= target if sense == AT_MOST else ours >= target) else "MISSED"
            missed += verdict == "MISSED"
        floors = f"{ours / floor:.2f}" if floor and ours is not None else ""
        print(f"{what:46} {peer:>12} {shown(floor):>8} {shown(ours):>8} {floors:>9} {sense + shown(target):>9}  {unit:5} {verdict}")
    print(f"{missed} targets missed" if missed else "no target missed")
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


main()
