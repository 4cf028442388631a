import { join } from "node:path";
import { fromGo } from "../obtain/go.ts";
import { fromModule } from "../obtain/module-file.ts";

const clients = join(import.meta.dirname, "../../../test/clients");
const kubernetesVersion = "v1.36.3";
const helmVersion = "v4.3.1";
const kubeconformVersion = "v0.8.0";

const stamp = "k8s.io/component-base/version";
const [, major, minor] = kubernetesVersion.match(/^v(\d+)\.(\d+)/) ?? [];

/**
 * The control plane and the node in one binary: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
 * kubelet, kube-proxy and kubectl.
 */
export const kubernetesProgram = fromGo({
  name: "kube",
  module: join(import.meta.dirname, "../../cluster"),
  what: `Kubernetes ${kubernetesVersion}, about 8 minutes the first time (two cores)`,
  ldflags: [
    `-X ${stamp}.gitVersion=${kubernetesVersion} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`,
    `-X ${stamp}.gitTreeState=clean -X ${stamp}.gitCommit=${"0".repeat(40)}`,
    `-X ${stamp}.buildDate=2026-01-01T00:00:00Z`,
  ],
});

/** Helm, built as in its own project. */
export const helm = fromGo({
  name: "helm",
  module: join(clients, "helm"),
  package: "helm.sh/helm/v4/cmd/helm",
  ldflags: [`-X helm.sh/helm/v4/internal/version.version=${helmVersion}`],
  what: `Helm ${helmVersion}, about 6 minutes the first time (two cores)`,
});

/** Validates objects against the JSON schemas of their kinds. */
export const kubeconform = fromGo({
  name: "kubeconform",
  module: join(clients, "kubeconform"),
  package: "github.com/yannh/kubeconform/cmd/kubeconform",
  ldflags: [`-X main.version=${kubeconformVersion}`],
  what: `kubeconform ${kubeconformVersion}, about 10 seconds the first time`,
});

/** The CRD of a kind of the Prometheus Operator project (Apache-2.0). */
const prometheusOperatorCrd = (name: string, plural: string) =>
  fromModule({
    name,
    folder: join(clients, "prometheus-operator"),
    module: "github.com/prometheus-operator/prometheus-operator",
    path: `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`,
    size: "about 4 MB",
  });

export const serviceMonitorCrd = prometheusOperatorCrd("service-monitor-crd", "servicemonitors");
export const prometheusRuleCrd = prometheusOperatorCrd("prometheus-rule-crd", "prometheusrules");
