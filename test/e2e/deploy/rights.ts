/** The release's accounts use all rights that they are granted, and no others, according to the cluster's audit log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crdNames, DEFAULT_CLASS, gatewayController } from "@sluice/model";
import { waitFor } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import {
  type OperationContext,
  privateSecrets,
  runAllAdminOperations,
  runAllOperatorOperations,
  runAllRevisionOperations,
} from "../operator/all-operations.ts";
import { type Grant, grantsIn, type RbacRule, refusedRequests, unusedGrants } from "../operator/compare-rights.ts";
import { runAllDedicatedNodesOperations } from "../operator/dedicated-nodes-operations.ts";
import { type ChartScene, minutes, releaseNamespace } from "./chart-scene.ts";
import { release } from "./helm.ts";

/** The parts with a Kubernetes token. */
const parts = ["operator", "admin"] as const;
type Part = (typeof parts)[number];

/** Rights that this suite does not use, with the reasons. The test also fails for an entry that is used. */
const rare: Readonly<Record<Part, Readonly<Record<string, string>>>> = {
  operator: {
    [`delete controllerrevisions.apps in ${releaseNamespace}`]:
      "deletes revisions beyond SLUICE_REVISIONS; least-privilege.test.ts sets it to a number that is reached",
  },
  admin: {},
};

const gatewayClass = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "GatewayClass",
  metadata: { name: "sluice" },
  spec: { controllerName: gatewayController(DEFAULT_CLASS) },
};

interface Role {
  readonly metadata: { readonly namespace?: string };
  readonly rules: readonly RbacRule[];
}

interface Pod {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly volumes?: readonly { readonly projected?: { readonly sources: readonly object[] } }[];
  };
}

/** The chart's default for the namespace of the Secrets that only the operator may read. */
const privateNamespace = `${releaseNamespace}-${release}-keys`;

const userOf = (account: string) => `system:serviceaccount:${releaseNamespace}:${account}`;

/** Requires an installed release. Checks all requests of its accounts so far, and leaves the release unchanged. */
export function rightsTests(scene: () => ChartScene): void {
  const labels = (part: string) => `app.kubernetes.io/instance=${release},app.kubernetes.io/component=${part}`;

  async function grantsOf(part: Part): Promise<readonly Grant[]> {
    const { items }: { items: readonly Role[] } = JSON.parse(
      await scene().kubectl("get", "clusterroles,roles", "-l", labels(part), "-o", "json"),
    );
    assert.ok(items.length > 1, "the chart makes a Role and a ClusterRole");
    return items.flatMap(({ metadata, rules }) => grantsIn(rules, metadata.namespace));
  }

  async function place(): Promise<OperationContext> {
    const { cluster, callers, kubectl, secret } = scene();
    const token = await secret(`${release}-admin`, "token");
    const url = `http://${release}-admin.${releaseNamespace}.svc.cluster.local:8001`;
    const operator = `deployment/${release}-operator`;
    return {
      namespace: releaseNamespace,
      privateNamespace,
      // The chart's default.
      ingressClass: "sluice",
      gatewayClass: "sluice",
      kubectl: cluster.kubectl,
      operatorTail: () => kubectl("logs", operator, "--tail=40"),
      async restartOperator(between) {
        await kubectl("scale", operator, "--replicas=0");
        await kubectl("wait", "--for=delete", "pod", "-l", labels("operator"), "--timeout=1m");
        await between();
        await kubectl("scale", operator, "--replicas=1");
        await kubectl("rollout", "status", operator, "--timeout=1m");
      },
      async admin(method, path, body) {
        const headers = { "kong-admin-token": token, ...(body && { "content-type": "application/json" }) };
        const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
        const answer = await callers.ask(`${url}${path}`, init);
        return { status: answer.status, body: answer.body === "" ? {} : JSON.parse(answer.body) };
      },
    };
  }

  const within = { timeout: 4 * minutes };
  test(
    "operator and admin use all rights that the chart grants them, and request no other rights",
    within,
    async () => {
      const { cluster, kubectl } = scene();
      const here = await place();
      // The operator uses its rights to the kinds of the Gateway API only if their CRDs exist.
      await cluster.kubectl(["apply", "--server-side", "-f", await obtainTool("gateway-api-crds")]);
      await waitFor(() => cluster.kubectl(["apply", "-f", "-"], JSON.stringify(gatewayClass)), {
        what: "the GatewayClass to be created",
      });
      await runAllOperatorOperations(here);
      await runAllAdminOperations(here);
      await runAllRevisionOperations(here);
      await runAllDedicatedNodesOperations(here);
      await kubectl("delete", "gateway/incomplete");
      const label = "gateway.networking.k8s.io/gateway-name=incomplete";
      await waitFor(async () => (await kubectl("get", "services", "-l", label, "-o", "name")) === "", {
        what: "the operator to delete the Service of the Gateway",
      });
      const log = cluster.audited();
      const found: Record<string, object> = {};
      for (const part of parts) {
        const own = log.filter(({ user }) => user === userOf(`${release}-${part}`));
        found[part] = { refused: refusedRequests(own), unused: unusedGrants(await grantsOf(part), own) };
      }
      const expected = (part: Part) => ({ refused: [], unused: Object.keys(rare[part]) });
      assert.deepEqual(found, { operator: expected("operator"), admin: expected("admin") });
      for (const name of ["good", "invalid"])
        await kubectl("delete", "--ignore-not-found", ...crdNames.map((kind) => `${kind}/${name}`));
      await kubectl("delete", "httproute/incomplete", "grpcroute/incomplete", "plugins.sluice.dev/incomplete");
      await kubectl("delete", "ingress/good", "service/good", "secret/tls", "secret/key");
      // The next installation of the chart creates a GatewayClass with this name.
      await kubectl("delete", "gatewayclass/sluice");
    },
  );

  test("the admin API's account may not read the signing keys of certificates or the key of the saved document", async () => {
    const { cluster } = scene();
    const secrets = await privateSecrets(await place());
    assert.equal(secrets.length, 3, secrets.join(" "));
    const account = userOf(`${release}-admin`);
    const asked = cluster.audited().length;
    for (const name of [[], ...secrets.map((secret) => [secret])])
      await assert.rejects(
        cluster.kubectl(["-n", privateNamespace, "get", "secrets", ...name, `--as=${account}`]),
        /forbidden/,
      );
    const answers = cluster
      .audited()
      .slice(asked)
      .filter(({ user, resource }) => user !== userOf(`${release}-operator`) && resource === "secrets")
      .filter((one) => one.namespace === privateNamespace);
    assert.deepEqual(
      answers.map(({ verb, name, status }) => [verb, name, status]),
      [["list", "", 403], ...secrets.map((secret) => ["get", secret, 403])],
    );
  });

  test("only operator and admin API have a token, and no account of another part sent a request to the API server", async () => {
    const { cluster, kubectl } = scene();
    const { items }: { items: readonly Pod[] } = JSON.parse(
      await kubectl("get", "pods", "-l", `app.kubernetes.io/instance=${release}`, "-o", "json"),
    );
    const hasToken = ({ spec }: Pod) =>
      (spec.volumes ?? []).some(({ projected }) =>
        (projected?.sources ?? []).some((source) => "serviceAccountToken" in source),
      );
    const holders = items.filter(hasToken).map(({ metadata }) => metadata.labels["app.kubernetes.io/component"]);
    assert.deepEqual([...new Set(holders)].sort(), [...parts].sort());
    assert.ok(items.length > holders.length);
    const known = parts.map((part) => userOf(`${release}-${part}`));
    const others = cluster.audited().filter(({ user }) => user.startsWith(userOf("")) && !known.includes(user));
    assert.deepEqual(others, []);
    assert.deepEqual(
      cluster.audited().filter(({ user }) => user === "system:anonymous"),
      [],
    );
  });
}
