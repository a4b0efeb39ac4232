#!/bin/sh
# Checks and measures the program on this machine's GPU; see --help. Meant to be run from a bundle.
exec python3 "$(dirname "$0")/gpu_check.py" "$@"
