/** The charts installed by Helm on a cluster with real pods: install, upgrade, rollback, uninstall. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Cluster, startCluster } from "../../cluster/pods/cluster.ts";
import { images } from "../../images/images.ts";
import { waitFor } from "../../process/index.ts";
import { tool } from "../../tools/tool.ts";
import { charts, release } from "./helm.ts";
import type { LoadReport } from "./load.ts";

const namespace = "sluice";
/** A trial of everything, with images that are on the node. */
const trial = [
  ["image.pullPolicy", "Never"],
  ["postgres.enabled", "true"],
  ["postgres.image.repository", "sluice/test-postgres"],
  ["postgres.persistence.enabled", "true"],
  ["redis.enabled", "true"],
  ["redis.image.repository", "sluice/test-redis"],
  ["userApi.replicas", "2"],
  ["userApi.route.enabled", "true"],
  ["userApi.route.requestsPerMinute", "100000"],
].flatMap(([name, value]) => ["--set", `${name}=${value}`]);
const minutes = 60_000;

describe("Helm on a cluster with pods", () => {
  let cluster: Cluster;
  let program: string;

  const kubectl = (...args: readonly string[]) => cluster.kubectl(["--namespace", namespace, ...args]);
  /** Answers stdout; a failed command is told with what the pods said. */
  async function helm(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await cluster.run(program, [...args, "--namespace", namespace], {
      timeout: 4 * minutes,
    });
    assert.equal(code, 0, `${stderr}\n${stdout}\n${code === 0 ? "" : await cluster.logs()}`);
    return stdout;
  }
  const upgrade = (...values: readonly string[]) =>
    helm("upgrade", "--install", release, charts.sluice, ...trial, ...values, "--wait", "--timeout=3m");
  const podsOf = async (component: string) =>
    (
      await kubectl(
        "get",
        "pods",
        "-l",
        `app.kubernetes.io/component=${component}`,
        "-o",
        "jsonpath={.items[*].metadata.name}",
      )
    )
      .split(" ")
      .sort();
  const secret = async (name: string, key: string) =>
    Buffer.from(await kubectl("get", "secret", name, "-o", `jsonpath={.data.${key}}`), "base64").toString();
  const volumeName = () => kubectl("get", "pvc", `data-${release}-postgres-0`, "-o", "jsonpath={.spec.volumeName}");
  /** The status of a request to the gateway's Service, from the node. */
  async function statusOf(path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const url = `http://${release}-gateway.${namespace}.svc.cluster.local${path}`;
    const script = `const { status } = await fetch(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)} }); console.log(status)`;
    const { stdout, stderr } = await cluster.run(process.execPath, ["--input-type=module", "--eval", script]);
    assert.equal(stderr, "");
    return Number(stdout);
  }

  /** Ids of the nodes' processes, as they are called inside. */
  async function gateways(): Promise<readonly string[]> {
    const script = `
      import { readdirSync, readFileSync } from "node:fs";
      const words = (id) => { try { return readFileSync("/proc/" + id + "/cmdline", "utf8").split("\\0") } catch { return [] } };
      const ids = readdirSync("/proc").filter((id) => words(id)[0]?.endsWith("/node") && words(id).at(-2) === "gateway");
      console.log(ids.join(" "));`;
    const { stdout, stderr } = await cluster.run(process.execPath, ["--input-type=module", "--eval", script]);
    assert.equal(stderr, "");
    return stdout.split(/\s/).filter((id) => id !== "");
  }

  before(
    async () => {
      program = await tool("helm");
      const { tar } = await images();
      cluster = await startCluster({ images: [tar] });
      await cluster.kubectl(["create", "namespace", namespace]);
      await cluster.kubectl(["label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"]);
    },
    { timeout: 5 * minutes },
  );
  after(() => cluster?.down());

  test("install brings every pod to Ready in a namespace that enforces restricted Pod Security", async () => {
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

  test("helm test finds that all parts answer each other", async () => {
    const log = await helm("test", release, "--logs");
    assert.match(log, /ok the user API answers a query/);
    assert.doesNotMatch(log, /FAILED/);
  });

  test("what somebody applies is served, and a fault is told at once by the webhook", async () => {
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
    await cluster.kubectl(["apply", "-n", namespace, "-f", "-"], resources);
    await waitFor(async () => (await statusOf("/theirs/healthz")) === 200, { what: "the route to be served" });
    const faulty = `
apiVersion: sluice.dev/v1alpha1
kind: Plugin
metadata: { name: faulty }
spec: { plugin: cors, config: { orgins: ["*"] }, targetRefs: [{ kind: Service, name: theirs }] }
`;
    // The API server asks once it has heard of the authority.
    await waitFor(
      () =>
        cluster
          .kubectl(["apply", "-n", namespace, "--dry-run=server", "-f", "-"], faulty)
          .then(() => false)
          .catch((error: Error) => /spec\.config\.orgins: unknown field/.test(error.message)),
      { what: "the webhook to refuse", timeout: 20_000 },
    );
  });

  test("an upgrade with a changed limit is live without a restart, keeps every Secret, and a rollback takes it back", async () => {
    const key = { apikey: await secret(`${release}-user-api-key`, "key") };
    const before = {
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
    };
    const asked = () => statusOf("/users/healthz", key);
    assert.equal(await asked(), 200);
    await upgrade("--set", "userApi.route.requestsPerMinute=1");
    await waitFor(async () => (await asked()) === 429, { what: "the limit to hold", interval: 100 });
    const now = {
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
    };
    assert.deepEqual(now, before);
    await helm("rollback", release, "1", "--wait", "--timeout=3m");
    await waitFor(async () => (await asked()) === 200, { what: "the limit to be gone", interval: 100 });
  });

  for (const [component, count] of [
    ["gateway", 2],
    ["operator", 1],
    ["user-api", 2],
  ] as const)
    test(`a rollout of ${component} under load loses no request`, { timeout: 4 * minutes }, async () => {
      const headers = { apikey: await secret(`${release}-user-api-key`, "key") };
      const url = `http://${release}-gateway.${namespace}.svc.cluster.local/users/healthz`;
      const args = [join(import.meta.dirname, "load.ts"), url, JSON.stringify(headers)];
      const load = await cluster.start(process.execPath, args, { name: "the load", ready: /under way/ });
      try {
        await kubectl("rollout", "restart", `deployment/${release}-${component}`);
        await kubectl("rollout", "status", `deployment/${release}-${component}`, "--timeout=2m");
        // Those that were replaced are told to end only then.
        await waitFor(async () => (await podsOf(component)).length === count, {
          what: "the old pods to be gone",
          timeout: 90_000,
          interval: 500,
        });
      } finally {
        load.signal("SIGTERM");
      }
      const { statuses, failures }: LoadReport = JSON.parse((await load.waitForOutput(/^\{.*\}$/m))[0]);
      assert.deepEqual(failures, {});
      assert.deepEqual(Object.keys(statuses), ["200"]);
      assert.ok(Number(statuses["200"]) > 100, `only ${statuses["200"]} requests`);
    });

  test("a node that is started again while operator and API server are away serves what it kept", async () => {
    await kubectl("scale", `deployment/${release}-operator`, "--replicas=0");
    await kubectl("wait", "--for=delete", "pod", "-l", "app.kubernetes.io/component=operator", "--timeout=1m");
    await cluster.stopComponent("api-server");
    try {
      const killed = await gateways();
      assert.equal(killed.length, 2);
      await cluster.run("kill", ["-9", ...killed]);
      await waitFor(async () => (await gateways()).filter((process) => !killed.includes(process)).length === 2, {
        what: "the kubelet to start the nodes again",
        timeout: minutes,
        interval: 500,
      });
      // Without a document nobody would be asked for a key. Ten in a row: both nodes.
      let inARow = 0;
      const asked = async () => {
        inARow = (await statusOf("/users/healthz").catch(() => 0)) === 401 ? inARow + 1 : 0;
        return inARow === 10;
      };
      await waitFor(asked, { what: "what was kept to be served", timeout: minutes, interval: 200 });
    } finally {
      await cluster.startComponent("api-server");
    }
    await kubectl("scale", `deployment/${release}-operator`, "--replicas=1");
    await kubectl("rollout", "status", `deployment/${release}-operator`, "--timeout=2m");
  });

  test("uninstall takes all that is the release's, and leaves the kinds and other people's resources", async () => {
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
      { what: "all to be gone", timeout: 60_000, interval: 500 },
    );
    assert.equal(left, "nothing");
    const wide = "clusterroles,clusterrolebindings,validatingwebhookconfigurations";
    assert.equal(await kubectl("get", wide, "-l", `app.kubernetes.io/instance=${release}`, "-o", "name"), "");
    const theirs = await kubectl(
      "get",
      "services.sluice.dev,routes.sluice.dev,plugins.sluice.dev,consumers.sluice.dev",
      "-o",
      "name",
    );
    assert.deepEqual(theirs.trim().split("\n").sort(), ["route.sluice.dev/theirs", "service.sluice.dev/theirs"]);
  });

  test("an installation after that takes up the database of before, and serves other people's resources again", async () => {
    const [password, volume] = [await secret(`${release}-postgres`, "password"), await volumeName()];
    await upgrade();
    assert.equal(await secret(`${release}-postgres`, "password"), password);
    assert.equal(await volumeName(), volume);
    await waitFor(async () => (await statusOf("/theirs/healthz")) === 200, { what: "the route to be served" });
  });
});
