#!/bin/sh
# Builds the C tests against a built library and runs them.
#   tests/abi/run.sh [asan|valgrind|example] [folder of libundercroft.so]
# The folder is target/debug if none is named. Ends in "N passed, N failed"; the status says the same.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mode=plain
libdir="$root/target/debug"
for argument in "$@"; do
  case $argument in
    asan | valgrind | example) mode=$argument ;;
    *) libdir=$(cd "$argument" && pwd) ;;
  esac
done
if [ ! -f "$libdir/libundercroft.so" ]; then
  echo "no libundercroft.so in $libdir: run \`cargo build --lib\` or name the folder that has it" >&2
  exit 2
fi

out="$root/target/abi-tests/$mode"
mkdir -p "$out"
# The loader looks for the SONAME, which cargo does not make a file of.
ln -sf "$libdir/libundercroft.so" "$out/libundercroft.so"
ln -sf "$libdir/libundercroft.so" "$out/libundercroft.so.0"
cc=${CC:-cc}
flags="-std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wpedantic -Werror -I$root/include"
link="-L$out -Wl,-rpath,$out -lundercroft -pthread"

if [ "$mode" = example ]; then
  # shellcheck disable=SC2086
  $cc $flags -o "$out/copy_and_read" "$root/examples/c/copy_and_read.c" $link
  folder=$(mktemp -d "${TMPDIR:-/tmp}/undercroft-example-XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  head -c 3000000 /dev/urandom >"$folder/segment.log"
  mkdir "$folder/store"
  "$out/copy_and_read" "$folder/store" "$folder/segment.log" "$folder/read-back"
  cmp "$folder/segment.log" "$folder/read-back"
  status=0
  said=$("$out/copy_and_read" "$folder/nowhere" "$folder/segment.log" "$folder/read-back" 2>&1) || status=$?
  case $status:$said in
    1:UC_ERR_*"$folder/nowhere"*) echo "a folder that is not there: $said" ;;
    *) echo "a folder that is not there must end the example with status 1 and a message that names it, got $status: $said" >&2; exit 1 ;;
  esac
  exit 0
fi

[ "$mode" = asan ] && flags="$flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
# shellcheck disable=SC2086
$cc $flags -o "$out/abi" "$here"/*.c $link
case $mode in
  plain) exec "$out/abi" ;;
  asan)
    # A leg that does not have the sanitizer in it proves nothing.
    nm "$out/abi" | grep -q __asan_init || { echo "AddressSanitizer is not linked in" >&2; exit 2; }
    exec "$out/abi"
    ;;
  valgrind)
    command -v valgrind >/dev/null || { echo "valgrind is not installed: apt-get install valgrind" >&2; exit 2; }
    exec valgrind --quiet --error-exitcode=3 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite "$out/abi"
    ;;
esac
