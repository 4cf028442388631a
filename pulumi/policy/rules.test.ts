import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject } from "../objects/create.ts";
import { adminObjects } from "../objects/parts/admin.ts";
import { postgresObjects, redisObjects } from "../objects/parts/databases.ts";
import { gatewayObjects } from "../objects/parts/gateway.ts";
import { operatorObjects } from "../objects/parts/operator.ts";
import { userApiObjects } from "../objects/parts/user-api.ts";
import { releaseOf } from "../release.ts";
import { bareRoutes, findPolicyViolations } from "./rules.ts";

const release = releaseOf({
  name: "sluice",
  namespace: "shop",
  values: { postgres: { enabled: true }, redis: { enabled: true } },
});

test("Sluice's own objects break no rule", () => {
  const parts = [operatorObjects, gatewayObjects, adminObjects, userApiObjects, postgresObjects, redisObjects];
  assert.deepEqual(findPolicyViolations(parts.flatMap((objectsOf) => objectsOf(release))), []);
});

const good = {
  name: "app",
  image: "shop/app:1",
  resources: { limits: { memory: "64Mi" } },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  },
};

const pod = (container: object, members: object = {}): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "app" },
  spec: { containers: [{ ...good, ...container }], ...members },
});

const security = (members: object) => pod({ securityContext: { ...good.securityContext, ...members } });

for (const { name, object, fault } of [
  { name: "a correct pod", object: pod({}), fault: undefined },
  { name: "an image with a digest", object: pod({ image: `shop/app@sha256:${"a".repeat(64)}` }), fault: undefined },
  {
    name: "an image with a port and no tag",
    object: pod({ image: "registry:5000/app" }),
    fault: /'registry:5000\/app' has no tag/,
  },
  {
    name: "an image with the tag latest",
    object: pod({ image: "shop/app:latest" }),
    fault: /tag latest, which is not fixed \[fixed-images\]/,
  },
  { name: "a container without a memory limit", object: pod({ resources: {} }), fault: /no memory limit/ },
  { name: "a container that may run as root", object: security({ runAsNonRoot: false }), fault: /may run as root/ },
  {
    name: "a pod that runs as user 0",
    object: pod({}, { securityContext: { runAsUser: 0 } }),
    fault: /it runs as root/,
  },
  { name: "a container that runs as user 0", object: security({ runAsUser: 0 }), fault: /it runs as root/ },
  { name: "a container that sees all of /proc", object: security({ procMount: "Unmasked" }), fault: /procMount/ },
  {
    name: "a container on a port of the host",
    object: pod({ ports: [{ containerPort: 80, hostPort: 80 }] }),
    fault: /hostPort/,
  },
  {
    name: "a container with an SELinux user",
    object: security({ seLinuxOptions: { user: "system_u" } }),
    fault: /seLinuxOptions/,
  },
  {
    name: "a pod with an SELinux type for the host",
    object: pod({}, { securityContext: { seLinuxOptions: { type: "spc_t" } } }),
    fault: /seLinuxOptions/,
  },
  {
    name: "a container without AppArmor",
    object: security({ appArmorProfile: { type: "Unconfined" } }),
    fault: /appArmorProfile/,
  },
  {
    name: "a container that is a process of the host",
    object: security({ windowsOptions: { hostProcess: true } }),
    fault: /hostProcess/,
  },
  {
    name: "a pod with a sysctl of the host",
    object: pod({}, { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } }),
    fault: /the sysctl kernel.msgmax is not allowed/,
  },
  {
    name: "a pod with a safe sysctl",
    object: pod({}, { securityContext: { sysctls: [{ name: "net.ipv4.tcp_syncookies", value: "1" }] } }),
    fault: undefined,
  },
  {
    name: "a container that may gain privileges",
    object: security({ allowPrivilegeEscalation: undefined }),
    fault: /may gain privileges/,
  },
  { name: "a privileged container", object: security({ privileged: true }), fault: /it is privileged/ },
  {
    name: "a container with a writable root file system",
    object: security({ readOnlyRootFilesystem: false }),
    fault: /can be written/,
  },
  {
    name: "a container that drops no capabilities",
    object: security({ capabilities: {} }),
    fault: /does not drop all capabilities/,
  },
  {
    name: "a container with added capabilities",
    object: security({ capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] } }),
    fault: /it adds cap/,
  },
  {
    name: "a container without a seccomp profile",
    object: security({ seccompProfile: { type: "Unconfined" } }),
    fault: /no seccomp profile/,
  },
  {
    name: "a pod in the network of its machine",
    object: pod({}, { hostNetwork: true }),
    fault: /hostNetwork is not allowed in restricted/,
  },
  {
    name: "a hostPath volume",
    object: pod({}, { volumes: [{ name: "v", hostPath: {} }] }),
    fault: /volume v: hostPath/,
  },
  {
    name: "an init container with the tag latest",
    object: pod({}, { initContainers: [{ ...good, name: "first", image: "a:latest" }] }),
    fault: /container first: .*latest/,
  },
  {
    name: "a CronJob with an image without a tag",
    object: {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "app" },
      spec: { jobTemplate: { spec: { template: { spec: { containers: [{ ...good, image: "a" }] } } } } },
    },
    fault: /CronJob app: container app: the image 'a' has no tag/,
  },
  {
    name: "a role with a wildcard",
    object: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "app" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["*"] }],
    },
    fault: /rules.0.verbs: a wildcard \(\*\) is not allowed/,
  },
]) {
  test(`the rules ${fault === undefined ? "accept" : "refuse"} ${name}`, () => {
    const faults = findPolicyViolations([object]);
    if (fault === undefined) assert.deepEqual(faults, []);
    else {
      assert.equal(faults.length, 1, faults.join("\n"));
      assert.match(faults[0] ?? "", fault);
    }
  });
}

const routing = (kind: string, name: string, spec: object, namespace = "shop"): KubernetesObject => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind,
  metadata: { name, namespace },
  spec,
});
const targets = (kind: string, name: string) => ({ plugin: "key-auth", targetRefs: [{ kind, name }] });

test("bareRoutes refuses a Route if no Plugin of its namespace acts on it or on its Service", () => {
  const routes = [
    routing("Route", "a", { serviceRef: { name: "users" } }),
    routing("Route", "b", { serviceRef: { name: "orders" } }),
    routing("Route", "c", { serviceRef: { name: "orders" } }),
  ];
  assert.deepEqual(bareRoutes([...routes, routing("Plugin", "p", targets("Service", "users"))]), [
    "Route b: no Plugin acts on it or its Service [no-bare-routes]",
    "Route c: no Plugin acts on it or its Service [no-bare-routes]",
  ]);
  assert.deepEqual(bareRoutes([...routes.slice(0, 1), routing("Plugin", "p", targets("Route", "a"))]), []);
  assert.equal(bareRoutes([...routes.slice(0, 1), routing("Plugin", "p", targets("Route", "a"), "bank")]).length, 1);
});
