#!/bin/sh
# The first process of a one-node cluster, in its own namespaces: makes the machine's files read-only, sets up the
# node's mounts and network, and then holds the namespaces. When it ends, all processes in them end.
#
#   node.sh STATE_FOLDER TEMPORARY_FOLDER PAUSE HIERARCHY...
#
# HIERARCHY names a hierarchy of cgroup v1 by its mount options, such as `memory`, `cpu,cpuacct` or `none,name=systemd`.
set -eu
state=$1 temporary=$2 pause=$3
shift 3

hostname node
mount --make-rprivate /
mount --make-rshared / # so that mounts of the kubelet propagate into the pods
mount -t proc proc /proc

# The control groups, with this process's own group as their root.
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
for hierarchy in "$@"; do
  name=${hierarchy#none,name=}
  mkdir "/sys/fs/cgroup/$name"
  mount -t cgroup -o "$hierarchy" cgroup "/sys/fs/cgroup/$name"
  case $name in *,*)
    for controller in $(echo "$name" | tr , ' '); do ln -s "$name" "/sys/fs/cgroup/$controller"; done ;;
  esac
done

# Folders of the system that the components write to, and name resolution by the cluster's DNS.
resolver=$(readlink -f /etc/resolv.conf)
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock "$(dirname "$resolver")"
[ -e "$resolver" ] || : > "$resolver" # the file was below /run, which the tmpfs has hidden
for folder in lib log; do
  mkdir -p "$state/var/$folder"
  mount --bind "$state/var/$folder" "/var/$folder"
done
mount --bind "$state/resolv.conf" "$resolver"

# The kubelet would set these kernel parameters for the whole machine. Files with the values that it expects are mounted
# over them, so that it changes nothing.
mkdir "$state/sysctl"
stand_in() {
  echo "$2" > "$state/sysctl/${1##*/}"
  mount --bind "$state/sysctl/${1##*/}" "/proc/sys/$1"
}
stand_in vm/overcommit_memory 1
stand_in vm/panic_on_oom 0
stand_in kernel/panic 10
stand_in kernel/panic_on_oops 1
stand_in kernel/keys/root_maxkeys 1000000
stand_in kernel/keys/root_maxbytes 25000000

# From inside, only the folder for temporary files of the machine is writable.
mount --bind "$temporary" "$temporary"
mount -o remount,bind,ro /

# A pair of interfaces is the node's network card. There is no route out: addresses outside are unreachable at once.
ip link set lo up
ip link add node0 type veth peer name node1
ip address add 10.99.0.1/24 dev node0
ip link set node0 up
ip link set node1 up
ip route add 10.96.0.0/16 dev node0 # the kernel rewrites the address of a Service only if there is a route to it
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
[ -e /proc/sys/net/bridge ] || modprobe br_netfilter
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables # needed by a pod that calls itself through its Service

echo "the node is set up"
exec "$pause"
