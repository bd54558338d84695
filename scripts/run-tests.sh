#!/bin/sh
# Runs test suites one after the other and ends in one line for all of them.
#
#   scripts/run-tests.sh SUITE...        a suite is what `make suite-SUITE` runs
#
# A suite that fails without saying of which test counts as one failure, and so does one that ran nothing.
set -u
cd "$(dirname "$0")/.." || exit 1
make=${MAKE:-make}
logs=target/test-logs
mkdir -p "$logs"
all_passed=0
all_failed=0

# What each failed test said, by its runner's own marks: cargo's sections, Maven's errors, our own "FAIL".
failures() {
    echo "==> failed in $1:"
    sed 's/\x1b\[[0-9;]*m//g' "$2" | awk '
        /^---- .* ----$/ { left = 15 }
        /^failures:$/ { left = 0 }
        left > 0 { left--; if (NF) print "    " $0; next }
        /^\[ERROR\] +[A-Za-z]|^not ok|^FAIL|^error(\[|:)/ { print "    " $0 }' | cut -c1-300 | head -60
}

said=$logs/failures.txt
: > "$said"
for suite in "$@"; do
    log=$logs/$suite.log
    status=0
    LINES_ON_FAILURE=120 scripts/step.sh "test: $suite" "$log" "$make" --no-print-directory "suite-$suite" || status=$?
    # The runners' closing lines: cargo's, our own ("N passed, M failed"), and Maven's totals (its lines per class name a time).
    counts=$(sed 's/\x1b\[[0-9;]*m//g' "$log" | awk '
        /^test result: / { for (i = 2; i <= NF; i++) { if ($i ~ /^passed/) p += $(i-1); if ($i ~ /^failed/) f += $(i-1) } next }
        /^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3; next }
        /Tests run: .*Skipped: [0-9]+/ && !/Time elapsed/ {
            gsub(/,/, "")
            for (i = 1; i <= NF; i++) {
                if ($i == "run:") r = $(i+1); if ($i == "Failures:") a = $(i+1)
                if ($i == "Errors:") b = $(i+1); if ($i == "Skipped:") s = $(i+1)
            }
            p += r - a - b - s; f += a + b
        }
        END { print p + 0, f + 0 }')
    passed=${counts% *} failed=${counts#* }
    [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    if [ $((passed + failed)) -eq 0 ]; then
        echo "    $suite ran no test at all; its output: $log" >&2
        failed=1
    fi
    echo "    $suite: $passed passed, $failed failed"
    # Said again below, where whoever sees only the end of the output sees it.
    [ "$failed" -eq 0 ] || failures "$suite" "$log" >> "$said"
    all_passed=$((all_passed + passed))
    all_failed=$((all_failed + failed))
done

cat "$said"
echo "$all_passed passed, $all_failed failed"
[ "$all_failed" -eq 0 ]
