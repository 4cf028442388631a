import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import type { ReleaseArgs } from "../../../pulumi/release.ts";
import { helmObjects, pulumiObjects } from "./same-objects.ts";

const anyone = [{ podSelector: {} }];
const plugins = ["a", "b:1"].map((name) => `images.example.com/acme/${name}@sha256:${"0a".repeat(32)}`);

const cases: Readonly<Record<string, ReleaseArgs["values"]>> = {
  defaults: {},
  "minimal values": {
    admin: { enabled: false },
    userApi: { enabled: false },
    webhook: { enabled: false },
    ingressClass: { create: false },
    gatewayClass: { create: false },
    gatewayApi: { dedicatedNodes: { enabled: false } },
    publishService: { enabled: false },
    disruptionBudgets: { enabled: false },
    push: { existingSecret: "own-push" },
    gateway: { endSeconds: 0, keptDocument: { enabled: false }, workers: "auto" },
  },
  "an existing private namespace": { operator: { privateNamespace: { name: "vault", create: false } } },
  "the release's namespace as private namespace": { operator: { privateNamespace: { name: "sluice" } } },
  "named namespaces and a private one": { namespaces: ["shop"], operator: { privateNamespace: { name: "vault" } } },
  "resources without a class": { class: "edge", classlessNamespaces: ["shop", "2", "shop"] },
  "named namespaces": { namespaces: ["shop", "bank"], class: "shops" },
  "a selector of namespaces": { namespaceSelector: "team in (a,b)", class: "teams" },
  "the release's own databases": {
    postgres: { enabled: true, persistence: { enabled: true, size: "2Gi", storageClassName: "fast" } },
    redis: { enabled: true },
    userApi: { replicas: 2, route: { enabled: true } },
    networkPolicies: { enabled: true },
  },
  "external databases": {
    postgres: { existingSecret: "users-database" },
    redis: { host: "redis.example.internal", port: 6380, tls: true, existingSecret: "redis-login" },
    userApi: { route: { enabled: true, hosts: ["users.example.com"], paths: ["/a", "/b"] } },
  },
  "addresses of a load balancer outside the cluster": {
    publishService: { enabled: false },
    publishStatusAddress: ["192.0.2.1", "2001:db8::1", "a.example"],
  },
  "certificates from an ACME server": {
    acme: {
      enabled: true,
      directories: ["https://ca.example/a", "https://ca.example/b"],
      email: "ops@example.com",
      caConfigMap: "ca",
      existingSecret: "binding",
    },
    networkPolicies: { enabled: true },
  },
  "certificates from an ACME server in named namespaces": { acme: { enabled: true }, namespaces: ["shop"] },
  "images of plugins": { plugins: { images: plugins } },
  "images of plugins as volumes": {
    plugins: { images: plugins, imageVolumes: true },
    push: { existingSecret: "own-push" },
    gateway: { keptDocument: { enabled: false } },
    image: { pullPolicy: "Always" },
  },
  "all other values": {
    labels: { team: "edge" },
    ingressClass: { name: "public.example", default: true },
    gatewayClass: { name: "public.example", shared: false },
    publishService: { pathOverride: "edge/balancer" },
    gatewayApi: {
      serviceType: "NodePort",
      externalTrafficPolicy: "Local",
      firstPort: 2000,
      lastPort: 2999,
    },
    logLevel: "debug",
    image: { registry: "images.example.com:5000", pullPolicy: "Always", pullSecrets: ["pull"] },
    operator: {
      image: { digest: `sha256:${"a".repeat(64)}` },
      existingSecret: "operator-token",
      env: { SLUICE_LEASE_DURATION: "20s", B: 1, A: true, MILLIONS: 1234567, SMALL: 0.0000005, PART: 0.25 },
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "edge", operator: "Exists" }],
      affinity: { nodeAffinity: {} },
      priorityClassName: "high",
    },
    gateway: {
      tls: { enabled: true },
      autoscaling: { enabled: true },
      service: {
        type: "LoadBalancer",
        annotations: { "example.com/a": "b" },
        externalTrafficPolicy: "Local",
        nodePort: 30080,
      },
      keptDocument: { storageClassName: "fast" },
    },
    admin: { kubernetes: true, origins: ["https://a.example", "https://b.example"], existingSecret: "token" },
    userApi: { existingSecret: "shown", route: { enabled: true, consumer: { existingSecret: "key" } } },
    monitoring: {
      serviceMonitors: { enabled: true, labels: { release: "p" } },
      rules: { enabled: true, objective: 99.95, runbooks: "https://wiki.example/alerts", labels: { release: "p" } },
      dashboards: { enabled: true },
    },
    networkPolicies: { enabled: true, proxyFrom: anyone, adminFrom: anyone, metricsFrom: anyone, upstreams: anyone },
  },
};

for (const [name, values] of Object.entries(cases)) {
  test(`chart and Pulumi create the same objects: ${name}`, () =>
    compare({ name: "edge", namespace: "sluice", values, hasGatewayApi: true }));
}

test("chart and Pulumi create the same objects: a cluster without the Gateway API", () =>
  compare({ name: "edge", namespace: "sluice" }));

/** Words that YAML reads as strings only in quotes. Each is used for every value that may be such a word. */
const words = ["2", "2024", "0x1", "1e3", "true", "on", "no", "y", "null"];

for (const word of words) {
  const other = { existingSecret: word };
  const placed = { nodeSelector: { disk: word }, priorityClassName: word };
  const values = {
    class: word,
    labels: { team: word },
    ingressClass: { name: word },
    gatewayClass: { name: word },
    image: { pullSecrets: [word] },
    push: other,
    operator: { ...placed, ...other, env: { Y: word, NO: word, NULL: word } },
    gateway: {
      ...placed,
      image: { repository: "2", tag: "1" },
      service: { annotations: { "example.com/a": word } },
      keptDocument: { size: "2", storageClassName: word },
    },
    admin: { ...placed, ...other, origins: [word] },
    userApi: {
      ...placed,
      ...other,
      replicas: 2,
      route: { enabled: true, hosts: [word], origins: [word], consumer: { ...other, username: word } },
    },
    monitoring: {
      serviceMonitors: { enabled: true, labels: { a: word } },
      rules: { enabled: true, labels: { a: word } },
      dashboards: { labels: { a: word } },
    },
    networkPolicies: { enabled: true },
  };
  // The name of a Service, and therefore the name of the release, must begin with a letter.
  const name = /^[a-z]/.test(word) ? word : `a${word}`;
  test(`chart and Pulumi create the same objects: names that are ${word}`, async () => {
    const databases = { postgres: other, redis: { host: word, ...other } };
    const service = { publishService: { pathOverride: `${word}/${word}` } };
    await compare({ name, namespace: word, values: { ...values, ...databases, ...service, namespaceSelector: word } });
    const servers = {
      postgres: { enabled: true, persistence: { enabled: true, size: "2", storageClassName: word } },
      redis: { enabled: true, ...other },
    };
    const addresses = { publishStatusAddress: [word] };
    await compare({ name, namespace: word, values: { ...values, ...servers, ...addresses, namespaces: [word] } });
  });
}

for (const namespace of ["sluice-operator", "sluice-push", "sluice-webhook"])
  test(`chart and Pulumi create the same objects: in a namespace called ${namespace}`, async () => {
    for (const name of ["sluice", "sluice-push", "sluice-operator"])
      for (const word of ["edge", "sluice", "sluice-push"]) await compare({ name, namespace, values: { class: word } });
  });

const pulumi = resolve(import.meta.dirname, "../../../pulumi");
const stacks = readdirSync(pulumi).flatMap((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1] ?? []);

for (const stack of stacks.filter((name) => name !== "crds")) {
  test(`chart and Pulumi create the same objects: the values of the stack ${stack}`, () => {
    const { config } = parse(readFileSync(resolve(pulumi, `Pulumi.${stack}.yaml`), "utf8"));
    const { "sluice:namespace": namespace, "sluice:public": _, ...sections } = config;
    const values = Object.fromEntries(
      Object.entries(sections).map(([key, value]) => [key.replace(/^sluice:/, ""), value]),
    );
    // The chart reads the database URL from a Secret, the Pulumi program from a secret of its config.
    const outside = stack === "prod" ? { postgres: { existingSecret: "users-database" } } : {};
    return compare({ name: "sluice", namespace, values: { ...values, ...outside } });
  });
}

async function compare(args: ReleaseArgs): Promise<void> {
  const [chart, program] = [await helmObjects(args), await pulumiObjects(args)];
  assert.deepEqual(Object.keys(program), Object.keys(chart));
  for (const [key, object] of Object.entries(chart)) assert.deepEqual(program[key], object, key);
}
