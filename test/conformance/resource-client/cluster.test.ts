import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import {
  type ClusterClientOptions,
  Conflict,
  createClusterClient,
  type Resource,
  type ResourceClient,
  ResourceRejected,
  UnknownKind,
} from "@sluice/crds";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { describeForeignKinds } from "./foreign-kinds.ts";
import { quietLog } from "./log.ts";
import { describeResourceClient } from "./suite.ts";
import { createWitness } from "./witness.ts";

const crds = new URL("../../../crds/", import.meta.url);
const manager = "sluice-admin";
const enoughNamespaces = 60;

let cluster: ControlPlane;
let namespaces = 0;
const namespace = async (): Promise<string> => {
  assert.ok(++namespaces <= enoughNamespaces, "raise enoughNamespaces");
  return `case-${namespaces}`;
};
const open = (options: Partial<ClusterClientOptions> = {}): ResourceClient =>
  createClusterClient({ kubeconfig: cluster.kubeconfig, log: quietLog, ...options });

before(async () => {
  cluster = await startControlPlane();
  const files = (await readdir(crds)).filter((name) => name.endsWith(".yaml"));
  await cluster.kubectl(["apply", "--server-side", ...files.flatMap((name) => ["-f", new URL(name, crds).pathname])]);
  const items = Array.from({ length: enoughNamespaces }, (_, index) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: `case-${index + 1}` },
  }));
  await cluster.kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
});
after(() => cluster?.stop());

describeResourceClient("a cluster", () => ({ client: open, namespace }));
describeForeignKinds("a cluster", () => ({ client: open, namespace }));

describe("a resource client of a real API server", () => {
  const using = async <Result>(
    options: Partial<ClusterClientOptions>,
    run: (client: ResourceClient, namespace: string) => Promise<Result>,
  ): Promise<Result> => {
    const client = open(options);
    try {
      return await run(client, await namespace());
    } finally {
      await client.close();
    }
  };
  const service = (name: string, namespace: string, spec: Record<string, unknown> = {}): Resource => ({
    apiVersion: "sluice.dev/v1alpha1",
    kind: "Service",
    metadata: { name, namespace },
    spec: { url: "http://users.example", ...spec },
  });
  const rejection = (message: RegExp) => (error: unknown) => {
    assert.ok(error instanceof ResourceRejected, String(error));
    assert.match(error.message, message);
    return true;
  };

  test("names the manager that owns a field, and takes over the field only by force", () =>
    using({}, async (client, namespace) => {
      const theirs = JSON.stringify(service("a", namespace, { retries: 1 }));
      await cluster.kubectl(["apply", "--server-side", "--field-manager=somebody", "-f", "-"], theirs);
      const ours = service("a", namespace, { retries: 2 });
      await assert.rejects(client.apply("Service", ours, { manager }), (error) => {
        assert.ok(error instanceof Conflict);
        assert.equal(error.reason, "owned");
        assert.deepEqual(error.owners, [{ manager: "somebody", field: ".spec.retries" }]);
        return true;
      });
      const taken = await client.apply("Service", ours, { manager, force: true });
      assert.equal(taken.spec?.retries, 2);
      const managers = taken.metadata.managedFields?.map(({ manager }) => manager).sort();
      assert.deepEqual(managers, ["sluice-admin", "somebody"]);
    }));

  test("returns the messages of the schema and of CEL rules", () =>
    using({}, async (client, namespace) => {
      const table: readonly (readonly [Record<string, unknown>, RegExp])[] = [
        [{ retries: -1 }, /spec\.retries/],
        [{ url: "no url" }, /<protocol>:\/\/<host>/],
        [{ nonsense: true }, /nonsense/],
      ];
      for (const [spec, message] of table)
        await assert.rejects(
          client.apply("Service", service("a", namespace, spec), { manager }),
          rejection(message),
          String(message),
        );
    }));

  test("names the verb and the resource when the permission is missing", async () => {
    const kubeconfig = await cluster.kubeconfigFor("nobody");
    await using({ kubeconfig }, async (client, namespace) => {
      await assert.rejects(
        client.apply("Service", service("a", namespace), { manager }),
        rejection(/"nobody" cannot patch resource "services" in API group "sluice.dev" in the namespace/),
      );
      const [witness, stop] = [createWitness(), new AbortController()];
      client.watch("Service", witness, { namespace, signal: stop.signal });
      await witness.sees(({ reported }) => reported.includes("lost"), "the refusal");
      assert.match(witness.lostWith[0]?.message ?? "", /cannot list resource "services"/);
    });
  });

  test("refuses a namespace that does not exist", () =>
    using({}, async (client) => {
      const homeless = client.apply("Service", service("a", "nowhere"), { manager });
      await assert.rejects(homeless, rejection(/namespaces "nowhere" not found/));
    }));

  test("waits for finalizers before it reports a deletion", () =>
    using({}, async (client, namespace) => {
      await client.apply("Service", service("a", namespace), { manager });
      const patch = (finalizers: readonly string[] | null) =>
        cluster.kubectl(
          ["patch", "services.sluice.dev", "a", "-n", namespace, "--type=merge", "-p"].concat(
            JSON.stringify({ metadata: { finalizers } }),
          ),
        );
      await patch(["sluice.dev/test"]);
      const ref = { kind: "Service", namespace, name: "a" } as const;
      let gone = false;
      const removal = client.remove(ref).finally(() => {
        gone = true;
      });
      await waitFor(async () => (await client.get(ref))?.metadata.deletionTimestamp, { what: "the deletion to begin" });
      assert.equal(gone, false);
      await patch(null);
      assert.equal(await removal, true);
      assert.equal(await client.get(ref), null);
    }));

  test("records repeated events as one event with a count", () =>
    using({}, async (client, namespace) => {
      await client.apply("Service", service("a", namespace), { manager });
      const event = { type: "Warning", reason: "Invalid", message: "Wrong.", reporter: "sluice.dev/operator" } as const;
      const ref = { kind: "Service", namespace, name: "a" } as const;
      for (let count = 0; count < 3; count++) await client.recordEvent(ref, event);
      const events = JSON.parse(await cluster.kubectl(["get", "events.events.k8s.io", "-n", namespace, "-o", "json"]));
      assert.deepEqual(
        events.items.map((one: { note: string; series: { count: number } }) => [one.note, one.series.count]),
        [["Wrong.", 3]],
      );
      assert.match(
        await cluster.kubectl(["describe", "services.sluice.dev", "a", "-n", namespace]),
        /Invalid.*Wrong\./,
      );
    }));

  test("treats a kind without a CRD as unknown, and recovers when the CRD is back", () =>
    using({}, async (client, namespace) => {
      const file = new URL("plugins.sluice.dev.yaml", crds).pathname;
      const [witness, stop] = [createWitness(), new AbortController()];
      client.watch("Plugin", witness, { namespace, signal: stop.signal });
      await witness.sees(({ reported }) => reported.length === 1, "the first list");
      await cluster.kubectl(["delete", "-f", file]);
      await witness.sees(({ lostWith }) => lostWith.length > 0, "the loss");
      assert.ok(witness.lostWith[0] instanceof UnknownKind, String(witness.lostWith[0]));
      await cluster.kubectl(["apply", "--server-side", "-f", file]);
      await witness.sees(({ reported }) => reported.at(-1) === "replaced ", "the kind to be back");
    }));

  test("misses no change when the API server restarts, and does not report the short interruption", () =>
    using({}, async (client, namespace) => {
      const stop = new AbortController();
      const witnesses = [createWitness(), createWitness()];
      for (const witness of witnesses) client.watch("Service", witness, { namespace, signal: stop.signal });
      await client.apply("Service", service("before", namespace), { manager });
      await client.apply("Service", service("doomed", namespace), { manager });
      for (const witness of witnesses) await witness.sees((one) => one.names().length === 2, "both");
      await cluster.restartApiServer();
      // The watches report these changes once they have reconnected.
      await cluster.kubectl(["delete", "services.sluice.dev", "doomed", "-n", namespace]);
      await client.apply("Service", service("after", namespace), { manager });
      for (const witness of witnesses)
        await witness.sees((one) => one.names().join() === "after,before", "the changes made during the outage");
      assert.deepEqual(
        witnesses.map(({ lostWith }) => lostWith.map(String)),
        [[], []],
        "an interruption of some seconds is not reported",
      );
    }));
});
