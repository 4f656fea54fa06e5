#!/bin/sh
# Finds what compiling model libraries and op packages needs. As root it asks whether to install it with apt-get.
# check-linux-dependency.sh --check only looks, --yes installs without asking.
if [ "${1:-}" = "-h" ] || [ "${1:-}" = "--help" ]; then
    echo "usage: check-linux-dependency.sh [--check | --yes]"
    echo
    echo "Finds what compiling model libraries needs. As root, it asks whether to install what is missing with"
    echo "apt-get; --check only looks, --yes installs without asking."
    exit 0
fi
case "$#:${1:-}" in
    0:* | 1:--check | 1:--yes) ;;
    *)
        echo "check-linux-dependency.sh: '$*' is not expected; --help says what is" >&2
        exit 2
        ;;
esac

missing=""
need() {
    # $1: what it is, $2: its Debian package, then commands of which one is enough
    what="$1"
    package="$2"
    shift 2
    for command in "$@"; do
        if command -v "$command" > /dev/null 2>&1; then
            echo "[INFO] $what: $(command -v "$command")"
            return
        fi
    done
    echo "[WARNING] $what is missing (package $package)"
    missing="$missing $package"
}

need "C++ compiler" clang clang++ g++
need "make" make make
need "CMake, for applications" cmake cmake
need "objcopy" binutils objcopy
need "compiler for aarch64 Linux" g++-aarch64-linux-gnu aarch64-linux-gnu-g++

if [ -z "$missing" ]; then
    echo "[INFO] everything is here"
    exit 0
fi
if [ "${1:-}" = "--check" ] || [ "$(id -u)" != "0" ] || ! command -v apt-get > /dev/null 2>&1; then
    echo "[INFO] to install it: sudo apt-get install$missing"
    exit 1
fi
if [ "${1:-}" != "--yes" ]; then
    printf "install%s with apt-get? [y/N] " "$missing"
    read -r answer || answer=""
    case "$answer" in
        y | Y | yes) ;;
        *)
            echo
            echo "[INFO] nothing was installed; to install it: sudo apt-get install$missing"
            exit 1
            ;;
    esac
fi
# shellcheck disable=SC2086 - a list of packages
apt-get update && apt-get install -y $missing
