#!/bin/sh
# Runs a command with its output in a log, and shows that it is alive.
#
#   scripts/step.sh LABEL LOG COMMAND...
#
# Prints LABEL, every 15 s the log's last line, and how long it took. On failure prints the end of the log and exits as
# the command did. VERBOSE=1: the command's own output, which is in the log all the same.
set -u
label=$1 log=$2
shift 2
mkdir -p "$(dirname "$log")"
start=$(date +%s)
echo "==> $label"
if [ -n "${VERBOSE:-}" ]; then
    # A pipe ends with the status of its last command, so the first one's goes another way.
    status=$({ { "$@" 2>&1; echo $? >&3; } | tee "$log" >&4; } 3>&1) 4>&1
    exit "$status"
fi
"$@" >"$log" 2>&1 &
child=$!
trap 'kill "$child" 2>/dev/null; exit 130' INT TERM
last=$start
while kill -0 "$child" 2>/dev/null; do
    sleep 0.2
    now=$(date +%s)
    [ $((now - last)) -ge 15 ] || continue
    last=$now
    echo "      [$((now - start)) s] $(tail -n 20 "$log" | tr -d '\r' | grep . | tail -n 1 | cut -c 1-110)"
done
wait "$child"
status=$?
if [ "$status" -ne 0 ]; then
    tail -n "${LINES_ON_FAILURE:-60}" "$log" >&2
    echo "==> $label FAILED (exit $status) after $(($(date +%s) - start)) s; all of its output: $log" >&2
    exit "$status"
fi
took=$(($(date +%s) - start))
[ "$took" -lt 2 ] || echo "    $label: $took s"
