import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { waitFor } from "../process/index.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";

const configMap = (name: string) =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { word: "kept" } });

let cluster: ControlPlane;
before(async () => {
  cluster = await startControlPlane({ controllers: true });
});
after(() => cluster?.stop());

test("the control plane is ready, and has the version of the Kubernetes binary", async () => {
  assert.match(await cluster.kubectl(["version", "--output=json"]), /"gitVersion": "v1\.36\.3"/);
  assert.equal(await cluster.kubectl(["get", "--raw", "/readyz"]), "ok");
});

test("the API server accepts resources that kubectl applies", async () => {
  const answer = await cluster.kubectl(["apply", "--server-side", "-f", "-"], configMap("applied"));
  assert.equal(answer.trim(), "configmap/applied serverside-applied");
});

test("a kubectl command that fails rejects with the server's message", async () => {
  await assert.rejects(cluster.kubectl(["get", "configmap", "absent"]), /configmaps "absent" not found/);
});

test("the API server lets a user do what RBAC grants, and refuses all other requests", async () => {
  const user = "system:serviceaccount:default:reader";
  const config = await cluster.kubeconfigFor(user, ["testers"]);
  const asUser = (...args: string[]) => cluster.kubectl([`--kubeconfig=${config}`, ...args]);
  assert.match(
    await asUser("auth", "whoami", "-o", "jsonpath={.status.userInfo}"),
    /"testers".*"username":"system:serviceaccount:default:reader"/,
  );
  await assert.rejects(asUser("get", "configmaps"), /Forbidden.*cannot list resource "configmaps"/);
  await cluster.kubectl(["create", "role", "reader", "--verb=list", "--resource=configmaps"]);
  await cluster.kubectl(["create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader"]);
  await waitFor(() => asUser("get", "configmaps"), { what: "the new role binding to take effect", interval: 100 });
  await assert.rejects(asUser("get", "secrets"), /Forbidden/);
});

test("the controllers delete the dependents of a deleted owner, and remove deleted namespaces", async () => {
  await cluster.kubectl(["create", "namespace", "short-lived"]);
  const owner = await cluster.kubectl(["create", "configmap", "owner", "-o", "jsonpath={.metadata.uid}"]);
  const owned = JSON.parse(configMap("owned"));
  owned.metadata.ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner }];
  await cluster.kubectl(["create", "-f", "-"], JSON.stringify(owned));
  await cluster.kubectl(["delete", "configmap", "owner"]);
  await cluster.kubectl(["wait", "--for=delete", "configmap/owned", "--timeout=30s"]);
  await cluster.kubectl(["delete", "namespace", "short-lived", "--timeout=30s"]);
});

test("the control plane keeps its data when the API server restarts", async () => {
  await cluster.kubectl(["create", "-f", "-"], configMap("before-restart"));
  await cluster.restartApiServer();
  assert.equal(await cluster.kubectl(["get", "configmap", "before-restart", "-o", "jsonpath={.data.word}"]), "kept");
});
