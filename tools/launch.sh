#!/bin/sh
# Runs a program of this repository, which is TypeScript and needs Node 26, with the Node that `npm ci` installs:
#
#   tools/launch.sh PROGRAM [ARGUMENT ...]    for the scripts of package.json
#   node_modules/.bin/sluice [ARGUMENT ...]   by a link to this file: the command of that name
#
# This is a shell script because an older Node ends with ERR_UNKNOWN_FILE_EXTENSION before it reads a line of TypeScript.
root=$(dirname "$(readlink -f "$0")")/..
case ${0##*/} in
  kubectl-sluice)
    # kubectl runs this for `kubectl sluice`, which uses the admin API of the cluster.
    SLUICE_ADMIN_CLUSTER=${SLUICE_ADMIN_CLUSTER:-true}
    export SLUICE_ADMIN_CLUSTER
    set -- "$root/gateway/src/main.ts" "$@"
    ;;
  sluice) set -- "$root/gateway/src/main.ts" "$@" ;;
  sluice-*) set -- "$root/${0##*/sluice-}/src/main.ts" "$@" ;;
esac

if [ ! -d "$root/node_modules" ]; then
  echo "Run 'npm ci' in $(cd "$root" && pwd) first: it installs the packages and the Node 26 that Sluice needs." >&2
  exit 1
fi
PATH=$root/node_modules/.bin:$PATH
export PATH
if [ ! -x "$root/node_modules/.bin/node" ]; then
  # No npm package provides Node for this platform.
  found=$(node --version 2>&1 | head -n 1)
  major=${found#v}
  if [ "${major%%.*}" -lt 26 ] 2>/dev/null || [ "$major" = "$found" ]; then
    echo "Sluice needs Node 26 or newer, and 'npm ci' has installed no Node: put one first on the PATH (found: $found)." >&2
    exit 1
  fi
fi

# Builds the web console, because browsers cannot run its sources. If these have not changed, it takes 0.1 s.
case ${0##*/}-${2-} in
  sluice-start | sluice-admin) [ ! -e "$root/tools/build/console.ts" ] || node "$root/tools/build/console.ts" || : ;;
esac

# A program that is executable names Node and its options in its first line.
[ -x "$1" ] && exec "$@"
exec node "$@"
