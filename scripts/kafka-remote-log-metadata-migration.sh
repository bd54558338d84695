#!/bin/sh
# Takes the topic __remote_log_metadata from one level to the next: the command that KIP-1266 describes, by its name and
# with its options, for clusters whose brokers run Undercroft.
#
#   kafka-remote-log-metadata-migration.sh --bootstrap-server HOST:PORT [--command-config FILE]
#       --check | --upgrade-to-v1 | --upgrade-to-v2 | --auto-upgrade
#       [--force] [--retention-ms MS] [--segment-ms MS] [--timeout-ms MS]
#
# All is done by `undercroft metadata migrate`, whose --help says more; it is looked for beside this script, then in PATH.
# UNDERCROFT_COMMAND names another one. Exit codes: 0 done or ready, 1 failed, 2 usage, 3 not yet, 4 refused.
set -u
here=$(dirname -- "$0")
if [ -n "${UNDERCROFT_COMMAND:-}" ]; then
    command=$UNDERCROFT_COMMAND
elif [ -x "$here/undercroft" ]; then
    command=$here/undercroft
elif command -v undercroft >/dev/null 2>&1; then
    command=undercroft
else
    echo "$0: there is no command \`undercroft\` beside this script or in PATH; set UNDERCROFT_COMMAND" >&2
    exit 1
fi
exec "$command" metadata migrate "$@"
