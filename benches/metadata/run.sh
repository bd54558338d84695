#!/usr/bin/env bash
# Measures our metadata manager beside the stock one: same broker, same topic, same run. Called by `make bench-metadata`.
#   run.sh [base] [compacted] [steady] [lookup] [long]     what to measure (default: all but `long`, which takes minutes)
#   run.sh broker start FOLDER | broker stop | bench MANAGER SCENARIO [key=value …]     the pieces, for a single measurement
#   run.sh history base|compacted|long     a broker with that history, left running; prints TOPIC:ID for the native driver
# Results are lines of JSON in $OUT/results.jsonl; report.py makes the table. ROUNDS=3 starts of each kind, PORT=29492.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/benches/metadata
LIBS=${LIBS:-$root/target/bench/kafka-4.4.0}
JAR=${JAR:-$root/target/dist/undercroft-kafka.jar}
OUT=${OUT:-$root/target/bench/metadata}
PORT=${PORT:-29492}
ROUNDS=${ROUNDS:-2}
JAVA=${JAVA:-java}
CLASSES=$OUT/classes
LONG="segments=3015 deleted=2985"
# A first start is one that knows nothing from before.
FIRST="undercroft.metadata.checkpoint.path=off"
# Of a topic that we create, in seconds instead of hours.
COMPACT="cleanup.policy=compact;min.cleanable.dirty.ratio=0.1;delete.retention.ms=1000;segment.ms=3000;max.compaction.lag.ms=1000"
mkdir -p "$OUT"

pid() { cat "$OUT/broker.pid" 2>/dev/null || true; }

log_settings() { # FILE OF THE LOG
    printf '%s\n' "rootLogger.level=WARN" "rootLogger.appenderRefs=f" "rootLogger.appenderRef.f.ref=F" "appender.f.type=File" \
        "appender.f.name=F" "appender.f.fileName=$1" "appender.f.layout.type=PatternLayout" \
        "appender.f.layout.pattern=[%d] %p %m (%c)%n" "logger.s.name=kafka.server.KafkaRaftServer" "logger.s.level=INFO"
}

start_broker() { # FOLDER
    local folder=$OUT/$1
    mkdir -p "$folder"
    cat > "$folder/server.properties" <<P
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((PORT + 1))
listeners=PLAINTEXT://127.0.0.1:$PORT,CONTROLLER://127.0.0.1:$((PORT + 1))
controller.listener.names=CONTROLLER
log.dirs=$folder/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.cleaner.backoff.ms=500
log.initial.task.delay.ms=500
P
    log_settings "$folder/server.log" > "$folder/log4j2.properties"
    : > "$folder/server.log"
    if [ ! -e "$folder/log/meta.properties" ]; then
        "$JAVA" -Dlog4j2.configurationFile="$folder/log4j2.properties" -cp "$LIBS/*" kafka.tools.StorageTool \
            format -t uGdVb3dzQ0uT0n3aD4q8aA -c "$folder/server.properties" > /dev/null
    fi
    setsid "$JAVA" -Xmx1g -XX:+UseG1GC -Dlog4j2.configurationFile="$folder/log4j2.properties" -cp "$LIBS/*" \
        kafka.Kafka "$folder/server.properties" > "$folder/out.log" 2>&1 < /dev/null &
    echo $! > "$OUT/broker.pid"
    for _ in $(seq 1200); do
        if grep -q "Kafka Server started" "$folder/server.log"; then return; fi
        kill -0 "$(pid)" 2>/dev/null || { tail -5 "$folder/out.log" "$folder/server.log" >&2; return 1; }
        sleep 0.1
    done
    return 1
}

stop_broker() {
    local running
    running=$(pid)
    [ -n "$running" ] || return 0
    kill "$running" 2>/dev/null || true
    while kill -0 "$running" 2>/dev/null; do sleep 0.1; done
    rm -f "$OUT/broker.pid"
}
trap stop_broker EXIT

bench() { # MANAGER SCENARIO [key=value …]
    log_settings "$OUT/bench.log" > "$OUT/log4j2.properties"
    # shellcheck disable=SC2086
    timeout "${LIMIT_S:-900}" "$JAVA" -Xmx1g -XX:+UseG1GC ${JAVA_OPTS:-} -Djava.io.tmpdir="$OUT/tmp" -Dlog4j2.configurationFile="$OUT/log4j2.properties" \
        -cp "$CLASSES:$JAR:$LIBS/*" io.undercroft.bench.Bench "127.0.0.1:$PORT" "$@"
}

told() { bench "$@" | tee -a "$OUT/results.jsonl"; }

fetch_kafka() {
    [ ! -e "$LIBS" ] || return 0
    echo "fetching Apache Kafka 4.4.0 through Maven" >&2
    "${MVN:-mvn}" -q -B -f "$root/tests/broker/kafka-libs.pom.xml" -Dkafka.version=4.4.0 -Dkafka.binding=log4j2 \
        -DincludeScope=runtime -DoutputDirectory="$LIBS" dependency:copy-dependencies
}

compile() {
    mkdir -p "$CLASSES" "$OUT/tmp"
    javac -nowarn --release 17 -d "$CLASSES" -cp "$LIBS/*" "$here"/java/io/undercroft/bench/*.java
}

# A broker that has lived through a history; left running. A folder that is there is taken as it is.
history() { # FOLDER TOPIC-CONFIG [key=value … of the history]
    local folder=$1 configs=$2 id
    shift 2
    if [ ! -e "$OUT/$folder/written" ]; then
        rm -rf "${OUT:?}/$folder"
        start_broker "$folder"
        id=$(bench - prepare ${configs:+"topic=$configs"})
        echo "orders:$id" > "$OUT/$folder/topic"
        stop_broker
        for partition in "$OUT/$folder"/log/__remote_log_metadata-*; do
            rm -f "$partition"/*.log "$partition"/*.index "$partition"/*.timeindex "$partition"/*.snapshot
        done
        rm -f "$OUT/$folder"/log/.kafka_cleanshutdown "$OUT/$folder"/log/*-offset-checkpoint
        bench - write id="$id" into="$OUT/$folder/log" "$@"
        touch "$OUT/$folder/written"
    fi
    start_broker "$folder"
    cat "$OUT/$folder"/log/__remote_log_metadata-*/*.log > /dev/null
}

topic_bytes() { cat "$OUT/$1"/log/__remote_log_metadata-*/*.log | wc -c; }

# What the live segments of the keyed base history come to, a batch for each record: what no cleaner can take away.
live_bytes() {
    local folder=$OUT/live
    rm -rf "$folder"
    for partition in $(seq 0 49); do mkdir -p "$folder/__remote_log_metadata-$partition"; done
    bench - write id="$(cut -d: -f2 "$OUT/compacted/topic")" into="$folder" keyed=1 live=1 2> /dev/null
    cat "$folder"/*/*.log | wc -c
    rm -rf "$folder"
}

measure_base() {
    echo "== base: 1.2 million events, 86,000 live segments" >&2
    history base ""
    for _ in $(seq "$ROUNDS"); do
        told stock boot as=base
        told ours boot as=base $FIRST
    done
    rm -rf "$OUT/checkpoint"
    told ours boot as=checkpoint-written close=1 undercroft.metadata.checkpoint.path="$OUT/checkpoint" || true
    told ours boot as=restart undercroft.metadata.checkpoint.path="$OUT/checkpoint" || true
    for manager in stock ours; do
        told "$manager" lookup as=lookup-boot $FIRST
        told "$manager" churn $FIRST
    done
    echo "{\"scenario\":\"bytes-unkeyed\",\"manager\":\"stock\",\"bytes\":$(topic_bytes base)}" | tee -a "$OUT/results.jsonl"
    stop_broker
}

measure_compacted() {
    echo "== compacted: the same history with keys and tombstones, cleaned" >&2
    rm -rf "${OUT:?}/compacted"
    history compacted "$COMPACT" keyed=1 roll=1048576
    # The cleaner takes its time; it is done when the rolls make no difference any more.
    local last=0 now same=0
    for _ in $(seq 60); do
        sleep 4
        bench - roll
        now=$(topic_bytes compacted)
        if [ "$((now > last ? now - last : last - now))" -lt 20000 ]; then same=$((same + 1)); else same=0; fi
        [ "$same" -lt 3 ] || break
        last=$now
    done
    echo "{\"scenario\":\"bytes-compacted\",\"manager\":\"ours\",\"bytes\":$now,\"live_bytes\":$(live_bytes)}" |
        tee -a "$OUT/results.jsonl"
    for _ in $(seq "$ROUNDS"); do
        told ours boot as=compacted $FIRST
    done
    # A stock manager ends for good at a tombstone, and never says so. Those that are left are the roll's own, which go within a second or two.
    LIMIT_S=60 told stock boot as=compacted || echo "stock: not started within 60 s" >&2
    stop_broker
}

measure_lookup() {
    echo "== lookup: of the base history" >&2
    history base ""
    for manager in stock ours; do
        told "$manager" lookup as=lookup-boot $FIRST
    done
    stop_broker
}

measure_steady() {
    echo "== steady: segments copied one by one, 100 and 2,000 at a time" >&2
    rm -rf "${OUT:?}/steady"
    start_broker steady
    bench - prepare partitions=1 > /dev/null
    told stock steady
    told ours steady
    stop_broker
}

measure_long() {
    echo "== long: 12 million events, 30,000 live segments" >&2
    # shellcheck disable=SC2086
    history long "" $LONG
    # shellcheck disable=SC2086
    told stock boot as=long $LONG
    # shellcheck disable=SC2086
    told ours boot as=long $FIRST $LONG
    stop_broker
}

case ${1:-} in
broker)
    trap - EXIT
    case $2 in
    start) start_broker "$3" ;;
    stop) stop_broker ;;
    *) exit 2 ;;
    esac
    ;;
bench)
    trap - EXIT
    shift
    bench "$@"
    ;;
history)
    trap - EXIT
    fetch_kafka
    compile
    case $2 in
    base) history base "" ;;
    compacted) history compacted "$COMPACT" keyed=1 roll=1048576 ;;
    # shellcheck disable=SC2086
    long) history long "" $LONG ;;
    *) exit 2 ;;
    esac
    cat "$OUT/$2/topic"
    ;;
*)
    fetch_kafka
    compile
    : > "$OUT/results.jsonl"
    for part in ${*:-base compacted steady}; do
        "measure_$part"
    done
    python3 "$here/report.py" "$OUT/results.jsonl"
    ;;
esac
