#!/usr/bin/env bash
# Measures our storage manager beside raw tools over the same bytes, through an https proxy that is as far away as a real store.
# Called by `make bench-storage`. Needs Go for the tools and SeaweedFS for the store (`make weed`).
#   run.sh [near] [far] [sealed] [memory]        what to measure (default: all)
#   run.sh serve                                 leaves server and proxy running and says where, until it is interrupted
#   run.sh bench SCENARIO,… [key=value …]        one measurement against what `serve` runs; see Bench.java
# Results are lines of JSON in $OUT/results.jsonl; report.py makes the table. N=4 segments of MIB=128, PORT=29700 and the next ones.
# RSM and JAR (class path) name another plugin.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/benches/storage
KAFKA=${KAFKA:-4.4.0}
LIBS=${LIBS:-$root/target/bench/kafka-$KAFKA}
JAR=${JAR:-$root/target/dist/undercroft-kafka.jar}
RSM=${RSM:-io.undercroft.kafka.UndercroftRemoteStorageManager}
OUT=${OUT:-$root/target/bench/storage}
WEED=${UNDERCROFT_WEED:-$root/target/venv/bin/weed}
PORT=${PORT:-29700}
JAVA=${JAVA:-java}
N=${N:-4}
MIB=${MIB:-128}
BUCKET=bench
ADMIN=http://127.0.0.1:$((PORT + 1))
export AWS_ACCESS_KEY_ID=bench AWS_SECRET_ACCESS_KEY=bench-secret
mkdir -p "$OUT/classes" "$OUT/weed"

stop() {
    for name in weed proxy; do
        if [ -e "$OUT/$name.pid" ]; then
            # It takes its time, and has its ports until then.
            while kill "$(cat "$OUT/$name.pid")" 2>/dev/null; do sleep 0.2; done
            rm -f "$OUT/$name.pid"
        fi
    done
    rm -rf "$OUT/weed"
}

prepare() {
    command -v go >/dev/null || { echo "bench-storage: no Go, which its proxy and raw client need: apt-get install golang-go (1.22 or later)" >&2; exit 1; }
    [ -x "$WEED" ] || WEED=$(command -v weed) || { echo "bench-storage: no SeaweedFS: make weed" >&2; exit 1; }
    if [ ! -e "$LIBS" ]; then
        echo "fetching Apache Kafka $KAFKA through Maven" >&2
        "${MVN:-mvn}" -q -B -f "$root/tests/broker/kafka-libs.pom.xml" -Dkafka.version="$KAFKA" -Dkafka.binding=log4j2 \
            -DincludeScope=runtime -DoutputDirectory="$LIBS" dependency:copy-dependencies
    fi
    (cd "$here/tools" && go build -o "$OUT/tools" .)
    javac -nowarn --release 17 -d "$OUT/classes" -cp "$LIBS/*" "$here"/java/io/undercroft/bench/storage/*.java
    printf '%s\n' "rootLogger.level=WARN" "rootLogger.appenderRefs=e" "rootLogger.appenderRef.e.ref=E" "appender.e.type=Console" \
        "appender.e.name=E" "appender.e.target=SYSTEM_ERR" "appender.e.layout.type=PatternLayout" \
        "appender.e.layout.pattern=%d %p %m (%c)%n" > "$OUT/log4j2.properties"
}

serve() {
    stop
    mkdir -p "$OUT/weed"
    printf '{"identities":[{"name":"bench","credentials":[{"accessKey":"%s","secretKey":"%s"}],"actions":["Admin","Read","Write","List"]}]}' \
        "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" > "$OUT/s3.json"
    # gRPC ports are the HTTP ports plus 10000 unless named; iceberg and lance have fixed ones unless switched off.
    "$WEED" server -s3 -filer -ip=127.0.0.1 -ip.bind=127.0.0.1 -dir="$OUT/weed" -s3.config="$OUT/s3.json" -volume.max=50 \
        -master.volumeSizeLimitMB=1024 -s3.port.iceberg=0 -s3.port.lance=0 \
        -master.port=$((PORT + 2)) -master.port.grpc=$((PORT + 3)) -volume.port=$((PORT + 4)) -volume.port.grpc=$((PORT + 5)) \
        -filer.port=$((PORT + 6)) -filer.port.grpc=$((PORT + 7)) -s3.port=$((PORT + 8)) -s3.port.grpc=$((PORT + 9)) \
        > "$OUT/weed.log" 2>&1 < /dev/null &
    echo $! > "$OUT/weed.pid"
    "$OUT/tools" proxy -listen "127.0.0.1:$PORT" -admin "127.0.0.1:$((PORT + 1))" -to "http://127.0.0.1:$((PORT + 8))" > "$OUT/proxy.log" 2>&1 < /dev/null &
    echo $! > "$OUT/proxy.pid"
    for _ in $(seq 300); do
        # A folder below /buckets is a bucket; the second time it is there already.
        case $(curl -s -o /dev/null -w '%{http_code}' -X POST "http://127.0.0.1:$((PORT + 6))/buckets/$BUCKET/" || true) in
        201 | 409) if curl -s "http://127.0.0.1:$((PORT + 8))/" > /dev/null && curl -sf "$ADMIN/stats" > /dev/null; then return; fi ;;
        esac
        sleep 0.1
    done
    tail -n 5 "$OUT/weed.log" "$OUT/proxy.log" >&2
    return 1
}

near() { curl -sf "$ADMIN/set?delay=0s&bps=0"; }
far() { curl -sf "$ADMIN/set?delay=20ms&bps=94371840"; }

bench() { # SCENARIO,… [key=value …]
    # The heap that a broker's start script gives, touched at once so that what it takes is no part of what rises later.
    # shellcheck disable=SC2086
    "$JAVA" ${JAVA_OPTS:--Xms1g -Xmx1g -XX:+AlwaysPreTouch} -XX:+UseG1GC -Dlog4j2.configurationFile="$OUT/log4j2.properties" \
        -cp "$OUT/classes:$JAR:$LIBS/*" io.undercroft.bench.storage.Bench "$RSM" "$1" segments="$OUT/segments" proxy="$ADMIN" \
        n="$N" mib="$MIB" storage.backend.class=s3 storage.s3.endpoint.url="https://127.0.0.1:$PORT" storage.s3.bucket.name="$BUCKET" \
        storage.s3.region=us-east-1 storage.s3.path.style.access.enabled=true storage.aws.access.key.id="$AWS_ACCESS_KEY_ID" \
        storage.aws.secret.access.key="$AWS_SECRET_ACCESS_KEY" storage.aws.certificate.check.enabled=false "${@:2}"
}

told() { "$@" | tee -a "$OUT/results.jsonl"; }
raw() { "$OUT/tools" raw "$1" "https://127.0.0.1:$PORT/$BUCKET" "${@:2}" "$OUT/segments/none-$MIB"/*.log; }

measure_near() {
    echo "== near: what the processor does for a GiB" >&2
    near
    told bench warm,copy,cold,seq,delete label=near-
    told raw raw-near-put put 4 8388608
    told raw raw-near-get get 4 4194304
}

measure_far() {
    echo "== far: 20 ms to the store, 90 MiB/s on each connection" >&2
    far
    told bench warm,copy,cold,seq,cold,rand,cold,readers,cold,first,index,delete label=far-
    told raw raw-far-put put 4 8388608
    told raw raw-far-get get 8 4194304
    told raw raw-far-rand rand 200 1048576
    told raw raw-far-readers get 16 1048576
    near
    told bench warm,copy,seq,again,delete label=cached- n=2 fetch.chunk.cache.size=536870912
}

measure_sealed() {
    echo "== sealed: zstd at level 3 and AES, as near" >&2
    near
    [ -e "$OUT/private.pem" ] || openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out "$OUT/private.pem" 2> /dev/null
    openssl pkey -in "$OUT/private.pem" -pubout -out "$OUT/public.pem"
    local keys=encryption.key.pairs
    set -- compression.enabled=true encryption.enabled=true encryption.key.pair.id=bench $keys=bench \
        $keys.bench.public.key.file="$OUT/public.pem" $keys.bench.private.key.file="$OUT/private.pem"
    told bench warm,copy,cold,seq,delete label=sealed- "$@"
    told bench warm,copy,delete label=producer- codec=zstd "$@"
    told bare_transforms
}

# What zstd and AES alone cost of the same bytes, in blocks of the default chunk size, in processor seconds for a GiB.
bare_transforms() {
    local packed sealed
    command -v zstd > /dev/null || { echo "bench-storage: no zstd, so no floors of sealed segments: apt-get install zstd" >&2; return; }
    packed=$(zstd -b3 -i2 -B131072 -q "$(printf '%s\n' "$OUT/segments/none-$MIB"/*.log | head -n 1)" | tail -n 1)
    sealed=$(openssl speed -evp aes-256-gcm -bytes 131072 -seconds 2 2> /dev/null | tail -n 1)
    # "-3  50226337 (2.672)  120.94 MB/s  829.1 MB/s  NAME" and "AES-256-GCM  4165767.75k": thousands of bytes a second.
    awk -v packed="$packed" -v sealed="$sealed" 'BEGIN {
        split(packed, of, " "); gsub(/[()]/, "", of[3]); split(sealed, by, " "); sub(/k/, "", by[2])
        printf "{\"scenario\":\"bare\",\"bytes\":0,\"ratio\":%s,\"zstd_s\":%.3f,\"unzstd_s\":%.3f,\"aes_s\":%.3f}\n",
            of[3], 1073.74 / of[4], 1073.74 / of[6], 1073741.8 / by[2]
    }'
}

measure_memory() {
    echo "== memory: 10 copies at once" >&2
    far
    told bench warm,copies:10,delete label=memory-
}

case ${1:-} in
serve)
    trap stop EXIT
    prepare
    serve
    echo "https://127.0.0.1:$PORT, steered at $ADMIN"
    sleep infinity
    ;;
bench)
    shift
    bench "$@"
    ;;
*)
    trap stop EXIT
    prepare
    serve
    : > "$OUT/results.jsonl"
    for part in ${*:-near far sealed memory}; do
        "measure_$part" || echo "bench-storage: $part: something failed, see its lines" >&2
    done
    python3 "$here/report.py" "$OUT/results.jsonl"
    ;;
esac
