/** The admin API of the release, used from another pod, and requests that RBAC refuses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { callersNamespace } from "./chart-callers-pod.ts";
import { type ChartScene, proxy, releaseNamespace } from "./chart-scene.ts";
import { release } from "./helm.ts";

const admin = `http://${release}-admin.${releaseNamespace}.svc.cluster.local:8001`;
const own = `system:serviceaccount:${releaseNamespace}:${release}-admin`;

/** Two accounts of another team: `nobody` has no rights; `deployer` may create Sluice's Services, in all namespaces. */
const accounts = `
apiVersion: v1
kind: ServiceAccount
metadata: { name: nobody, namespace: ${callersNamespace} }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: deployer, namespace: ${callersNamespace} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: ${releaseNamespace}-deployer }
rules: [{ apiGroups: [sluice.dev], resources: [services], verbs: [create] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: ${releaseNamespace}-deployer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ${releaseNamespace}-deployer }
subjects: [{ kind: ServiceAccount, name: deployer, namespace: ${callersNamespace} }]
`;

export function adminTests(scene: () => ChartScene): void {
  /** Posts a form, as Kong's tools do, and returns the status and the JSON. */
  async function post(path: string, form: Readonly<Record<string, string>>, proof: Readonly<Record<string, string>>) {
    const headers = { ...proof, "content-type": "application/x-www-form-urlencoded" };
    const init = { method: "POST", headers, body: new URLSearchParams(form).toString() };
    const { status, body } = await scene().callers.ask(`${admin}${path}`, init);
    return { status, body: JSON.parse(body) };
  }
  const ownProof = async () => ({ "kong-admin-token": await scene().secret(`${release}-admin`, "token") });
  const remove = async (path: string) =>
    scene().callers.ask(`${admin}${path}`, { method: "DELETE", headers: await ownProof() });
  const upstream = `http://${release}-operator.${releaseNamespace}.svc.cluster.local:8080`;

  test("a form that another pod posts to the admin API creates a route: kubectl shows it, and it is served", async () => {
    const { kubectl, callers } = scene();
    const proof = await ownProof();
    const service = await post("/services", { name: "formed", url: upstream }, proof);
    assert.equal(service.status, 201, JSON.stringify(service.body));
    const route = await post("/services/formed/routes", { name: "formed", "paths[]": "/formed" }, proof);
    assert.equal(route.status, 201, JSON.stringify(route.body));
    // A 201 confirms that the route is served.
    assert.equal((await callers.ask(`${proxy}/formed/healthz`)).status, 200);
    const { items } = JSON.parse(await kubectl("get", "routes.sluice.dev", "-o", "json"));
    const made = items.find(({ spec }: { spec: { name?: string } }) => spec.name === "formed");
    assert.deepEqual([made.spec.id, made.spec.paths], [route.body.id, ["/formed"]]);
    const programmed = made.status.conditions.find(({ type }: { type: string }) => type === "Programmed");
    assert.equal(programmed.status, "True");
    assert.deepEqual([(await remove("/routes/formed")).status, (await remove("/services/formed")).status], [204, 204]);
    assert.equal((await callers.ask(`${proxy}/formed/healthz`)).status, 404);
    assert.doesNotMatch(await kubectl("get", "routes.sluice.dev", "-o", "yaml"), /name: formed/);
  });

  test("an account may do through the admin API what RBAC grants it, and gets an error for anything else", async () => {
    const { cluster } = scene();
    await cluster.kubectl(["apply", "--filename", "-"], accounts);
    const proofOf = async (name: string) => {
      const token = await cluster.kubectl(["create", "token", name, "--namespace", callersNamespace]);
      return { authorization: `Bearer ${token.trim()}` };
    };
    const [nobody, deployer] = [await proofOf("nobody"), await proofOf("deployer")];
    const form = { name: "deployed", url: upstream };
    assert.equal((await post("/services", form, {})).status, 401);
    const refused = await post("/services", form, nobody);
    assert.equal(refused.status, 403);
    assert.match(refused.body.message, /serviceaccount:callers:nobody may not create services/);
    assert.equal((await post("/services", form, deployer)).status, 201);
    const route = await post("/services/deployed/routes", { "paths[]": "/deployed" }, deployer);
    assert.equal(route.status, 403);
    assert.match(route.body.message, /serviceaccount:callers:deployer may not create routes/);
    assert.equal((await remove("/services/deployed")).status, 204);
  });

  const denied: readonly (readonly [string, readonly string[]])[] = [
    [
      "write conditions",
      ["patch", `route.sluice.dev/${release}-user-api`, "--subresource=status", "--type=merge", "--patch={}"],
    ],
    ["read Secrets of other namespaces", ["get", "secrets", "--namespace", callersNamespace]],
    ["create pods", ["run", "pod", "--image=sluice/gateway:0.1.0"]],
    ["change the operator's Lease", ["patch", `lease/${release}-operator`, "--type=merge", "--patch={}"]],
    [
      "change its own rights",
      ["patch", `clusterrole/${releaseNamespace}-${release}-admin`, "--type=merge", "--patch={}"],
    ],
  ];
  test("the admin API's own account is refused operations that it is not granted", async () => {
    const { kubectl } = scene();
    assert.match(await kubectl(`--as=${own}`, "get", "routes.sluice.dev", "--output=name"), /user-api/);
    for (const [what, args] of denied)
      await assert.rejects(
        kubectl(`--as=${own}`, ...args),
        /Forbidden.*User "system:serviceaccount:sluice:sluice-admin" cannot/s,
        what,
      );
  });
}
