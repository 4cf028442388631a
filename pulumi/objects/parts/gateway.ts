/** The nodes: Deployment, Services and autoscaler, equal to the chart's. */

import type { KubernetesObject } from "../create.ts";
import { containerPorts, deploymentOf, preStop, serviceOf } from "../deployment.ts";
import { metadataOf, pushSecret, type Release } from "../names.ts";
import { pluginsOf } from "../plugins.ts";
import { envOf, podProbe, pushVolume } from "../pods.ts";

const component = "gateway";

export function gatewayObjects(release: Release): readonly KubernetesObject[] {
  const { service, tls, streams, autoscaling } = release.values.gateway;
  return [
    serviceOf(release, {
      component,
      annotations: service.annotations,
      spec: {
        type: service.type,
        ...(service.externalTrafficPolicy === "" ? {} : { externalTrafficPolicy: service.externalTrafficPolicy }),
      },
      ports: {
        proxy: service.port,
        ...(tls.enabled ? { "proxy-tls": service.tlsPort } : {}),
        ...Object.fromEntries(streams.map(({ name, servicePort }) => [name, servicePort])),
      },
      nodePorts: service.type === "ClusterIP" ? {} : { proxy: service.nodePort },
    }),
    // The operator finds the nodes through this Service. A node is ready only once it has received a document, so the
    // Service publishes addresses that are not ready.
    serviceOf(release, {
      component,
      suffix: "-push",
      spec: { clusterIP: "None", publishNotReadyAddresses: true },
      ports: { push: 8005, status: 8007 },
    }),
    ...(autoscaling.enabled ? [autoscaler(release)] : []),
    deployment(release),
  ];
}

function deployment(release: Release): KubernetesObject {
  const values = release.values.gateway;
  const { endSeconds, drainSeconds, keptDocument, peers, autoscaling, tls, streams } = values;
  const push = pushVolume(pushSecret(release), component);
  const plugins = pluginsOf(release, values.resources);
  return deploymentOf(release, {
    component,
    values,
    ...(autoscaling.enabled ? {} : { replicas: values.replicas }),
    surges: true,
    // The time before SIGTERM, the node's drain time, and some seconds for its shutdown.
    grace: endSeconds + drainSeconds + 10,
    usesApi: false,
    initContainers: plugins.initContainers,
    container: {
      env: [...settings(release), ...plugins.env, ...envOf(values.env)],
      ports: containerPorts({
        proxy: 8000,
        ...(tls.enabled ? { "proxy-tls": 8443 } : {}),
        ...Object.fromEntries(streams.map(({ name, port }) => [name, port])),
        push: 8005,
        ...(peers.enabled ? { peers: 8006 } : {}),
        status: 8007,
      }),
      startupProbe: podProbe({ path: "/status/live", port: "status", period: 1, failures: 60 }),
      livenessProbe: podProbe({ path: "/status/live", port: "status", period: 10, failures: 6 }),
      // A node is ready once it runs a document.
      readinessProbe: podProbe({ path: "/status/ready", port: "status", period: 1, failures: 3 }),
      ...preStop(endSeconds),
      volumeMounts: [
        push.mount,
        ...(keptDocument.enabled ? [{ name: "document", mountPath: "/var/lib/sluice" }] : []),
        ...plugins.mounts,
      ],
    },
    volumes: [
      push.volume,
      ...(keptDocument.enabled ? [{ name: "document", ...kept(keptDocument) }] : []),
      ...plugins.volumes,
    ],
  });
}

/**
 * From Kubernetes 1.35 on, the API server copies this label from the machine to the pod (KEP-4742). Without the label,
 * the variable is empty, which counts as unset.
 */
const zone = {
  name: "SLUICE_ZONE",
  valueFrom: { fieldRef: { fieldPath: "metadata.labels['topology.kubernetes.io/zone']" } },
};

function settings(release: Release): readonly object[] {
  const { values } = release;
  const { keptDocument, peers, workers, drainSeconds, tls, streams } = values.gateway;
  const listeners = streams.map((stream) => `0.0.0.0:${stream.port}${stream.tls ? " ssl" : ""}`).join(", ");
  return [
    { name: "SLUICE_SOURCE", value: "push" },
    { name: "SLUICE_PROXY_LISTEN", value: "0.0.0.0:8000" },
    ...(tls.enabled ? [{ name: "SLUICE_PROXY_TLS_LISTEN", value: "0.0.0.0:8443" }] : []),
    ...(streams.length > 0 ? [{ name: "SLUICE_STREAM_LISTEN", value: listeners }] : []),
    { name: "SLUICE_PUSH_LISTEN", value: "0.0.0.0:8005" },
    { name: "SLUICE_STATUS_LISTEN", value: "0.0.0.0:8007" },
    ...pushVolume(pushSecret(release), component).env,
    ...(peers.enabled ? [{ name: "SLUICE_PEER_LISTEN", value: "0.0.0.0:8006" }] : []),
    ...(keptDocument.enabled ? [{ name: "SLUICE_KEPT_DOCUMENT", value: "/var/lib/sluice/document" }] : []),
    { name: "SLUICE_WORKERS", value: String(workers) },
    { name: "SLUICE_DRAIN_TIMEOUT", value: `${drainSeconds}s` },
    { name: "SLUICE_LOG_LEVEL", value: values.logLevel },
    ...(values.gateway.env.SLUICE_ZONE === undefined ? [zone] : []),
  ];
}

/** The volume of the saved document: one per pod, deleted with the pod. */
function kept({ size, storageClassName }: Release["values"]["gateway"]["keptDocument"]): object {
  if (storageClassName === "") return { emptyDir: { sizeLimit: size } };
  const spec = { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage: size } } };
  return { ephemeral: { volumeClaimTemplate: { spec } } };
}

function autoscaler(release: Release): KubernetesObject {
  const { minReplicas, maxReplicas, targetCPU } = release.values.gateway.autoscaling;
  const metadata = metadataOf(release, component);
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata,
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: metadata.name },
      minReplicas,
      maxReplicas,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: targetCPU } } },
      ],
    },
  };
}
