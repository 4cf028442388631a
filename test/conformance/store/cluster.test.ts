import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { createClusterClient } from "@sluice/crds";
import type { Store, WriteFault } from "../../../gateway/src/stores/store.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { waitFor } from "../../process/index.ts";
import { describeCrashes, type Trouble, troubled } from "./crashes.ts";
import { consumer, credential, plugin, route, service } from "./entities.ts";
import { create, createOpener, isRemoved, type Opener, quiet, remove } from "./resource-store.ts";
import { describeStore } from "./suite.ts";

const crds = new URL("../../../crds/", import.meta.url);
const enough = 90;

let cluster: ControlPlane;
let cases = 0;

before(async () => {
  cluster = await startControlPlane();
  const files = (await readdir(crds)).filter((name) => name.endsWith(".yaml"));
  await cluster.kubectl(["apply", ...files.flatMap((name) => ["-f", new URL(name, crds).pathname])]);
  const items = Array.from({ length: enough }, (_, index) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: `case-${index + 1}` },
  }));
  await cluster.kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
});
after(() => cluster?.stop());

/** Every case has a namespace of its own as home, and a class of its own, because names are unique in all namespaces. */
async function hold(): Promise<Opener & { readonly name: string }> {
  assert.ok(++cases <= enough, "raise `enough`");
  const name = `case-${cases}`;
  const connect = () => createClusterClient({ kubeconfig: cluster.kubeconfig, log: quiet });
  return { name, ...createOpener(connect, { homeNamespace: name, class: name }) };
}

describeStore("a cluster", hold);

describeCrashes("a cluster", async () => {
  assert.ok(++cases <= enough, "raise `enough`");
  const name = `case-${cases}`;
  const trouble: Trouble = {};
  const client = () => createClusterClient({ kubeconfig: cluster.kubeconfig, log: quiet });
  const opener = createOpener(() => troubled(client(), trouble), { homeNamespace: name, class: name });
  return { ...opener, trouble, client, isOurs: ({ metadata }) => metadata.namespace === name };
});

describe("a cluster that people write to as well", () => {
  interface Person {
    /** Applies a resource of the case's class as kubectl would: on the client's side, or on the server's by a manager. */
    apply(kind: string, name: string, spec: object, manager?: string): Promise<string>;
    get(kind: string, name: string): Promise<{ spec: Record<string, unknown>; metadata: Record<string, unknown> }>;
    kubectl(...args: readonly string[]): Promise<string>;
  }

  const using = async (run: (store: Store, person: Person) => Promise<void>) => {
    const holder = await hold();
    const kubectl = (...args: readonly string[]) => cluster.kubectl([...args, "-n", holder.name]);
    const person: Person = {
      apply: (kind, name, spec, manager) =>
        cluster.kubectl(
          ["apply", ...(manager ? ["--server-side", `--field-manager=${manager}`] : []), "-f", "-"],
          JSON.stringify({
            apiVersion: "sluice.dev/v1alpha1",
            kind,
            metadata: { name, namespace: holder.name },
            spec: { class: holder.name, ...spec },
          }),
        ),
      get: async (kind, name) =>
        JSON.parse(await kubectl("get", `${kind}.sluice.dev`, name, "-o", "json", "--show-managed-fields")),
      kubectl,
    };
    try {
      await run(holder.open(), person);
    } finally {
      await holder.close();
    }
  };
  const found = (store: Store, collection: "services" | "consumers", member: string, value: string) =>
    waitFor(() => store.find(collection, { member, value }), { what: `${value} to be seen` });
  const owned = (fault: WriteFault | undefined) => {
    assert.equal(fault?.kind, "owned", JSON.stringify(fault));
    return fault?.kind === "owned" ? fault.owners : [];
  };

  test("adds a key to a person's consumer and owns nothing else of it", () =>
    using(async (store, { apply, get }) => {
      await apply("Consumer", "ann", { username: "ann", tags: ["a"] }, "gitops");
      const ann = await found(store, "consumers", "username", "ann");
      assert.equal((await create(store, "keyauth_credentials", credential(ann, "one"))).fault, undefined);
      const { spec, metadata } = await get("consumers", "ann");
      assert.equal((spec.keyAuth as unknown[]).length, 1);
      const ours = (metadata.managedFields as { manager: string; fieldsV1: Record<string, object> }[]).find(
        ({ manager }) => manager === "sluice-admin",
      );
      assert.deepEqual(Object.keys(ours?.fieldsV1["f:spec"] ?? {}), ["f:keyAuth"]);
      // The person goes on as before, and our key stays.
      await apply("Consumer", "ann", { username: "ann", tags: ["b"] }, "gitops");
      assert.equal(((await get("consumers", "ann")).spec.keyAuth as unknown[]).length, 1);
      assert.equal(isRemoved(await remove(store, "keyauth_credentials", { member: "key", value: "one" })), true);
      const after = (await get("consumers", "ann")).spec;
      assert.deepEqual([after.username, after.tags, after.keyAuth], ["ann", ["b"], undefined]);
    }));

  test("names who owns a consumer's list of keys, and leaves it and no Secret behind", () =>
    using(async (store, { apply, kubectl }) => {
      await kubectl("create", "secret", "generic", "bob", "--from-literal=key=theirs");
      await kubectl("label", "secret", "bob", "sluice.dev/credential=key-auth");
      const keyAuth = [{ secretRef: { name: "bob", key: "key" } }];
      await apply("Consumer", "bob", { username: "bob", keyAuth });
      const bob = await found(store, "consumers", "username", "bob");
      const { fault } = await create(store, "keyauth_credentials", credential(bob, "mine"));
      assert.deepEqual(owned(fault), [{ manager: "kubectl-client-side-apply", field: ".spec.keyAuth" }]);
      const removal = await remove(store, "keyauth_credentials", { member: "key", value: "theirs" });
      assert.deepEqual(owned(removal.fault), [{ manager: "kubectl-client-side-apply", field: ".spec.keyAuth" }]);
      assert.equal((await kubectl("get", "secrets", "-o", "name")).trim(), "secret/bob");
    }));

  test("removes what another manager owns by force only", () =>
    using(async (store, { apply, kubectl }) => {
      await apply("Service", "users", { url: "http://a" }, "gitops");
      const users = await found(store, "services", "name", "users");
      const ours = plugin("cors", { service: { id: users.id } });
      assert.equal((await create(store, "plugins", ours)).fault, undefined);
      const { fault } = await remove(store, "services", { id: users.id });
      assert.deepEqual(owned(fault), [{ manager: "gitops", field: ".spec" }]);
      assert.ok(await store.find("plugins", { id: ours.id }), "nothing is removed before all owners were looked at");
      assert.equal(isRemoved(await remove(store, "services", { id: users.id }, { force: true })), true);
      assert.equal((await kubectl("get", "services.sluice.dev,plugins.sluice.dev", "-o", "name")).trim(), "");
    }));

  test("removes a route whose service was taken away, so that its name is free again", () =>
    using(async (store, { kubectl }) => {
      const users = service("users");
      await create(store, "services", users);
      const made = () => create(store, "routes", route({ name: "web", service: { id: users.id } }));
      assert.equal((await made()).fault, undefined);
      await kubectl("delete", "services.sluice.dev", "--all");
      const web = { member: "name", value: "web" };
      await waitFor(async () => (await store.find("routes", web)) === null, { what: "the route to be faulty" });
      assert.equal(isRemoved(await remove(store, "routes", web)), true);
      await create(store, "services", users);
      assert.equal((await made()).fault, undefined);
    }));

  test("adds keys while somebody else keeps writing the resource's status", () =>
    using(async (store, { kubectl }) => {
      const bob = consumer("bob");
      await create(store, "consumers", bob);
      const [name = ""] = (
        await kubectl("get", "consumers.sluice.dev", "-o", "jsonpath={.items[*].metadata.name}")
      ).split(" ");
      let writing = true;
      const writer = (async () => {
        for (let count = 0; writing; count++)
          await kubectl("annotate", "--overwrite", "consumers.sluice.dev", name, `example.com/count=${count}`);
      })();
      for (let count = 0; count < 5; count++) {
        const { fault } = await create(store, "keyauth_credentials", credential(bob, `key-${count}`));
        assert.equal(fault, undefined);
      }
      writing = false;
      await writer;
      assert.equal((await store.list("keyauth_credentials", { size: 10 })).entities.length, 5);
    }));
});
