import { join } from "node:path";
import { fromGo } from "../obtain/go.ts";

const version = "v1.36.3";
const stamp = "k8s.io/component-base/version";
const [, major, minor] = version.match(/^v(\d+)\.(\d+)/) ?? [];

/**
 * The control plane and the node in one binary: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
 * kubelet, kube-proxy and kubectl.
 */
export const kubernetesProgram = fromGo({
  name: "kube",
  module: join(import.meta.dirname, "../../cluster"),
  what: `Kubernetes ${version}, about 8 minutes the first time (two cores)`,
  ldflags: [
    `-X ${stamp}.gitVersion=${version} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`,
    `-X ${stamp}.gitTreeState=clean -X ${stamp}.gitCommit=${"0".repeat(40)}`,
    `-X ${stamp}.buildDate=2026-01-01T00:00:00Z`,
  ],
});
