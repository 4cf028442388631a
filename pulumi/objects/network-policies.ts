/** NetworkPolicies of each part, equal to the chart's. A rule without peers allows all peers. */

import type { KubernetesObject } from "./create.ts";
import { type Component, hasWebhook, metadataOf, nodeSelectorOf, type Release, selectorOf } from "./names.ts";

type Rules = Readonly<Record<"ingress" | "egress", readonly object[]>>;

export function networkPolicy(release: Release, component: Component): KubernetesObject {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: metadataOf(release, component),
    spec: {
      ...pods(release, component),
      policyTypes: ["Ingress", "Egress"],
      ...rules[component](release),
    },
  };
}

const names = {
  ports: [
    { protocol: "UDP", port: 53 },
    { protocol: "TCP", port: 53 },
  ],
};
const tcp = (...ports: readonly number[]) => ports.map((port) => ({ protocol: "TCP", port }));

/** Pods of a part; `test` is the chart's test pod. */
const pods = (release: Release, component: Component | "test") => ({
  podSelector: component === "gateway" ? nodeSelectorOf(release) : { matchLabels: selectorOf(release, component) },
});

const rules: Readonly<Record<Component, (release: Release) => Rules>> = {
  operator(release) {
    const { metricsFrom, apiServer, acmeServers } = release.values.networkPolicies;
    const ordering = release.values.acme.enabled ? acmeServers : [];
    return {
      ingress: [
        { from: [pods(release, "admin"), pods(release, "test"), ...metricsFrom], ports: tcp(8080) },
        // The API server is not a pod, so the source of its calls is unknown.
        ...(hasWebhook(release) ? [{ ports: tcp(9443) }] : []),
      ],
      egress: [names, ...apiServer, ...ordering, { to: [pods(release, "gateway")], ports: tcp(8005) }],
    };
  },
  gateway(release) {
    const { proxyFrom, metricsFrom, upstreams, databases } = release.values.networkPolicies;
    const { gateway, gatewayApi } = release.values;
    const gateways = { protocol: "TCP", port: gatewayApi.firstPort, endPort: gatewayApi.lastPort };
    const streams = tcp(...gateway.streams.map(({ port }) => port));
    const ports = [...(gateway.tls.enabled ? tcp(8000, 8443) : tcp(8000)), ...streams, gateways];
    const chosen = [
      { to: upstreams },
      { to: [pods(release, "user-api")], ports: tcp(4000) },
      { to: [pods(release, "redis")], ports: tcp(6379) },
      ...databases,
      ...(gateway.peers.enabled ? [{ to: [pods(release, "gateway")], ports: tcp(8006) }] : []),
    ];
    return {
      ingress: [
        { ports, ...(proxyFrom.length === 0 ? {} : { from: [...proxyFrom, pods(release, "test")] }) },
        { from: [pods(release, "operator")], ports: tcp(8005) },
        { from: [pods(release, "admin"), ...metricsFrom], ports: tcp(8007) },
        ...(gateway.peers.enabled ? [{ from: [pods(release, "gateway")], ports: tcp(8006) }] : []),
      ],
      egress: [names, ...(upstreams.length === 0 ? [{}] : chosen)],
    };
  },
  admin(release) {
    const { adminFrom, apiServer } = release.values.networkPolicies;
    return {
      ingress: [{ from: [...adminFrom, pods(release, "test")], ports: tcp(8001) }],
      egress: [
        names,
        ...apiServer,
        { to: [pods(release, "operator")], ports: tcp(8080) },
        { to: [pods(release, "gateway")], ports: tcp(8007) },
      ],
    };
  },
  "user-api"(release) {
    const { metricsFrom, databases } = release.values.networkPolicies;
    return {
      ingress: [{ from: [pods(release, "gateway"), ...metricsFrom], ports: tcp(4000) }],
      egress: [
        names,
        ...databases,
        { to: [pods(release, "postgres")], ports: tcp(5432) },
        { to: [pods(release, "redis")], ports: tcp(6379) },
      ],
    };
  },
  postgres: (release) => ({ ingress: [{ from: [pods(release, "user-api")], ports: tcp(5432) }], egress: [] }),
  redis: (release) => ({
    ingress: [{ from: [pods(release, "user-api"), pods(release, "gateway")], ports: tcp(6379) }],
    egress: [],
  }),
};
