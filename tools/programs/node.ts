import { join } from "node:path";
import { fromApt } from "./obtain/apt.ts";
import { fromGo } from "./obtain/go.ts";

const cluster = join(import.meta.dirname, "../cluster");

/** CoreDNS with the plugins that the one-node cluster configures. */
export const coredns = fromGo({
  name: "coredns",
  module: join(cluster, "coredns"),
  what: "CoreDNS 1.15, about 4 minutes the first time (two cores)",
});

/** The process that holds the namespaces of a pod, and of a one-node cluster. */
export const pause = fromGo({ name: "pause", module: join(cluster, "pause"), what: "a program of 24 lines" });

/** Runs containers for the kubelet. Its package brings runc, the command `ctr` and the shim that starts containers. */
export const containerd = fromApt({ commands: ["containerd"], package: "containerd", size: "about 40 MB" });

/** kube-proxy writes its rules with nftables. */
export const nftables = fromApt({ commands: ["nft"], package: "nftables", size: "about 1 MB" });

/** The CNI plugins that connect pods to the node. The tool is one of them; its folder contains all of them. */
export const cniPlugins = fromApt({
  commands: ["bridge"],
  path: "/usr/lib/cni",
  package: "containernetworking-plugins",
  size: "about 10 MB",
});
