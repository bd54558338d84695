#!/bin/sh
# Builds libundercroft_jni.so, the C half of the shim.
#
#   build-native.sh INCLUDE_DIR LIB_DIR OUT_DIR
#
# INCLUDE_DIR has undercroft.h; LIB_DIR has libundercroft.so; OUT_DIR gets libundercroft_jni.so.
# Uses JAVA_HOME, or the javac on the path, for jni.h; CC and CFLAGS as usual.
set -eu

if [ $# -ne 3 ]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
include_dir=$1
lib_dir=$2
out_dir=$3
here=$(cd "$(dirname "$0")" && pwd)

java_home=${JAVA_HOME:-}
if [ -z "$java_home" ]; then
    javac=$(command -v javac) || {
        echo "build-native.sh: no JDK: set JAVA_HOME or install one (Debian: apt-get install openjdk-17-jdk-headless)" >&2
        exit 1
    }
    java_home=$(dirname "$(dirname "$(readlink -f "$javac")")")
fi
[ -f "$java_home/include/jni.h" ] || {
    echo "build-native.sh: $java_home has no include/jni.h: a JDK is needed, not a JRE" >&2
    exit 1
}
for file in "$include_dir/undercroft.h" "$lib_dir/libundercroft.so"; do
    [ -f "$file" ] || {
        echo "build-native.sh: $file is missing; build the core first" >&2
        exit 1
    }
done

mkdir -p "$out_dir"
# -z now: a core that lacks a function fails when it is loaded, with a message, and not when it is called.
# -z nodelete: a class loader may be collected while a thread returns through our code.
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -O2 -g1 ${CFLAGS:-} -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden \
    -I"$include_dir" -I"$java_home/include" -I"$java_home/include/linux" \
    "$here"/src/main/native/*.c \
    -L"$lib_dir" -lundercroft \
    -Wl,-soname,libundercroft_jni.so -Wl,-rpath,'$ORIGIN' -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,--no-undefined \
    -o "$out_dir/libundercroft_jni.so"
