#!/bin/sh
# rootfs.sh OUT
# Builds the tree of the image into the folder OUT, which must not exist: what is packed for npm, the packages that
# package-lock.json names for production, and the programs /bin/ratelimit and /bin/sluice. It needs no network where the
# dependencies are installed. The Dockerfile copies this tree onto an image that has Node.js in /nodejs.
set -eu
if [ "$#" -ne 1 ]; then
  echo "usage: $0 OUT" >&2
  exit 2
fi
exec node "$(dirname "$0")/rootfs.mjs" "$1"
