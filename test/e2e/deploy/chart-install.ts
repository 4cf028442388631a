/** Installation, upgrades, rollback and removal of the release. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crdNames } from "@sluice/model";
import { waitFor } from "../../../tools/process/index.ts";
import { type ChartScene, releaseNamespace } from "./chart-scene.ts";
import { charts, release } from "./helm.ts";

export function installation(scene: () => ChartScene): void {
  test("install brings every pod to Ready in a namespace that enforces restricted Pod Security", async () => {
    const { helm, upgrade, podsOf } = scene();
    await helm("install", "sluice-crds", charts.crds, "--wait");
    const notes = await upgrade();
    assert.match(notes, /The user API: +the proxy's \/users\/graphql/);
    for (const [component, count] of [
      ["operator", 1],
      ["gateway", 2],
      ["admin", 1],
      ["user-api", 2],
      ["postgres", 1],
      ["redis", 1],
    ] as const)
      assert.equal((await podsOf(component)).length, count, component);
  });

  test("helm test confirms that the release's parts reach each other", async () => {
    const { helm } = scene();
    const log = await helm("test", release, "--logs");
    assert.match(log, /ok the user API answers a query/);
    assert.doesNotMatch(log, /FAILED/);
  });

  test("an applied Route is served, and the webhook refuses an invalid Plugin", async () => {
    const { cluster, statusOf } = scene();
    const resources = `
apiVersion: sluice.dev/v1alpha1
kind: Service
metadata: { name: theirs }
spec: { backendRef: { name: ${release}-operator, port: 8080 } }
---
apiVersion: sluice.dev/v1alpha1
kind: Route
metadata: { name: theirs }
spec: { serviceRef: { name: theirs }, paths: [/theirs] }
`;
    await cluster.kubectl(["apply", "-n", releaseNamespace, "-f", "-"], resources);
    await waitFor(async () => (await statusOf("/theirs/healthz")) === 200, { what: "the route to be served" });
    const faulty = `
apiVersion: sluice.dev/v1alpha1
kind: Plugin
metadata: { name: faulty }
spec: { plugin: cors, config: { orgins: ["*"] }, targetRefs: [{ kind: Service, name: theirs }] }
`;
    // The API server can call the webhook only after the operator has added the authority of the webhook's certificate.
    await waitFor(
      () =>
        cluster
          .kubectl(["apply", "-n", releaseNamespace, "--dry-run=server", "-f", "-"], faulty)
          .then(() => false)
          .catch((error: Error) => /spec\.config\.orgins: unknown field/.test(error.message)),
      { what: "the webhook to refuse", timeout: 20_000 },
    );
  });

  test("an upgrade with a changed limit takes effect without a restart and keeps every Secret, and a rollback reverts the limit", async () => {
    const { podsOf, kubectl, statusOf, consumer, upgrade, helm } = scene();
    const key = await consumer();
    const look = async () => ({
      gateway: await podsOf("gateway"),
      users: await podsOf("user-api"),
      secrets: await kubectl(
        "get",
        "secrets",
        "-l",
        "app.kubernetes.io/part-of=sluice",
        "-o",
        "jsonpath={.items[*].data}",
      ),
    });
    const before = await look();
    const asked = () => statusOf("/users/healthz", key);
    assert.equal(await asked(), 200);
    await upgrade("--set", "userApi.route.requestsPerMinute=1");
    await waitFor(async () => (await asked()) === 429, { what: "the limit to take effect", interval: 100 });
    assert.deepEqual(await look(), before);
    await helm("rollback", release, "1", "--wait", "--timeout=3m");
    await waitFor(async () => (await asked()) === 200, { what: "the limit to be reverted", interval: 100 });
  });

  test("enabling the autoscaler keeps the present number of nodes, and so does every later upgrade", async () => {
    const { kubectl, podsOf, upgrade } = scene();
    const look = async () => ({
      replicas: await kubectl("get", `deployment/${release}-gateway`, "-o", "jsonpath={.spec.replicas}"),
      pods: await podsOf("gateway"),
    });
    const before = await look();
    const on = ["--set", "gateway.autoscaling.enabled=true"];
    for (const values of [on, on, []]) {
      await upgrade(...values);
      assert.deepEqual(await look(), before, values.join(" "));
    }
    // An upgrade also keeps the number of replicas that another client, such as an autoscaler, has set.
    await upgrade(...on);
    for (const count of [3, 2]) await kubectl("scale", `deployment/${release}-gateway`, `--replicas=${count}`);
    await upgrade(...on);
    assert.equal((await look()).replicas, "2");
    await upgrade();
    await waitFor(async () => (await podsOf("gateway")).length === 2, {
      what: "two nodes",
      timeout: 60_000,
      interval: 500,
    });
  });
}

export function removal(scene: () => ChartScene): void {
  const volumeName = () =>
    scene().kubectl("get", "pvc", `data-${release}-postgres-0`, "-o", "jsonpath={.spec.volumeName}");

  test("uninstall removes the release's workloads, Services and rights, and keeps the CRDs and the users' resources", async () => {
    const { helm, kubectl } = scene();
    await helm("uninstall", release, "--wait", "--timeout=3m");
    const kinds = "deployments,statefulsets,pods,services,serviceaccounts,roles,rolebindings,networkpolicies";
    const left = await waitFor(
      async () => {
        const names = await kubectl(
          "get",
          `${kinds},poddisruptionbudgets`,
          "-l",
          `app.kubernetes.io/instance=${release}`,
          "-o",
          "name",
        );
        return names === "" ? "nothing" : false;
      },
      { what: "all objects to be removed", timeout: 60_000, interval: 500 },
    );
    assert.equal(left, "nothing");
    const wide = "clusterroles,clusterrolebindings,ingressclasses,validatingwebhookconfigurations";
    assert.equal(await kubectl("get", wide, "-l", `app.kubernetes.io/instance=${release}`, "-o", "name"), "");
    const theirs = await kubectl("get", crdNames.join(), "-o", "name");
    assert.deepEqual(theirs.trim().split("\n").sort(), ["route.sluice.dev/theirs", "service.sluice.dev/theirs"]);
  });

  test("a later installation uses the previous database, and serves the users' resources again", async () => {
    const { upgrade, secret, statusOf } = scene();
    const [password, volume] = [await secret(`${release}-postgres`, "password"), await volumeName()];
    await upgrade();
    assert.equal(await secret(`${release}-postgres`, "password"), password);
    assert.equal(await volumeName(), volume);
    await waitFor(async () => (await statusOf("/theirs/healthz")) === 200, { what: "the route to be served" });
  });
}
