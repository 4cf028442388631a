import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { createClusterClient } from "@sluice/crds";
import type { Entities } from "@sluice/model";
import type { Store, WriteFault } from "../../../gateway/src/stores/store.ts";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { quietLog } from "../resource-client/log.ts";
import { describeCrashes, type InjectedFaults, withFaults } from "./crashes.ts";
import {
  consumerEntity,
  credentialEntity,
  pluginEntity,
  routeEntity,
  serviceEntity,
  targetEntity,
} from "./entities.ts";
import { createIn, createOpener, isRemoved, removeFrom, replaceIn, type StoreOpener } from "./resource-store.ts";
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

/** Every case has its own home namespace and its own class: names must be unique in a class, across namespaces. */
async function hold(): Promise<StoreOpener & { readonly name: string }> {
  assert.ok(++cases <= enough, "raise `enough`");
  const name = `case-${cases}`;
  const connect = () => createClusterClient({ kubeconfig: cluster.kubeconfig, log: quietLog });
  return { name, ...createOpener(connect, { homeNamespace: name, class: name }) };
}

describeStore("a cluster", hold);

describeCrashes("a cluster", async () => {
  assert.ok(++cases <= enough, "raise `enough`");
  const name = `case-${cases}`;
  const faults: InjectedFaults = {};
  const client = () => createClusterClient({ kubeconfig: cluster.kubeconfig, log: quietLog });
  const opener = createOpener(() => withFaults(client(), faults), { homeNamespace: name, class: name });
  return { ...opener, faults, client, isOurs: ({ metadata }) => metadata.namespace === name };
});

describe("a store in a cluster with other writers", () => {
  interface Person {
    /** Applies a resource of the case's class with kubectl: client-side, or server-side for a given field manager. */
    apply(kind: string, name: string, spec: object, manager?: string): Promise<string>;
    /** Applies a resource as Argo CD does, by force. */
    sync(kind: string, name: string, spec: object): Promise<string>;
    /** Resolves to an empty string, or rejects if `sync` would change the resource. */
    drift(kind: string, name: string, spec: object): Promise<string>;
    get(kind: string, name: string): Promise<{ spec: Record<string, unknown>; metadata: Record<string, unknown> }>;
    kubectl(...args: readonly string[]): Promise<string>;
    /** The name of the case's namespace and class. */
    readonly name: string;
  }

  const using = async (run: (store: Store, person: Person) => Promise<void>) => {
    const holder = await hold();
    const kubectl = (...args: readonly string[]) => cluster.kubectl([...args, "-n", holder.name]);
    const pass = (args: readonly string[], one: { readonly kind: string; name: string; spec: object }) =>
      cluster.kubectl(
        [...args, "-f", "-"],
        JSON.stringify({
          apiVersion: "sluice.dev/v1alpha1",
          kind: one.kind,
          metadata: { name: one.name, namespace: holder.name },
          spec: { class: holder.name, ...one.spec },
        }),
      );
    const asArgo = ["--server-side", "--field-manager=argocd-controller", "--force-conflicts"];
    const person: Person = {
      apply: (kind, name, spec, manager) =>
        pass(["apply", ...(manager ? ["--server-side", `--field-manager=${manager}`] : [])], { kind, name, spec }),
      sync: (kind, name, spec) => pass(["apply", ...asArgo], { kind, name, spec }),
      drift: (kind, name, spec) => pass(["diff", ...asArgo], { kind, name, spec }),
      get: async (kind, name) =>
        JSON.parse(await kubectl("get", `${kind}.sluice.dev`, name, "-o", "json", "--show-managed-fields")),
      kubectl,
      name: holder.name,
    };
    try {
      await run(holder.open(), person);
    } finally {
      await holder.close();
    }
  };
  const fieldsOf = ({ metadata }: { readonly metadata: Record<string, unknown> }) => {
    const entries = metadata.managedFields as {
      manager: string;
      operation: string;
      fieldsV1: Record<string, object>;
    }[];
    const ours = entries.find(({ manager, operation }) => manager === "sluice-admin" && operation === "Apply");
    return ours?.fieldsV1["f:spec"] ?? {};
  };
  const byField = (one: { field: string }, other: { field: string }) => (one.field < other.field ? -1 : 1);
  const found = <Name extends "services" | "consumers" | "upstreams">(
    store: Store,
    collection: Name,
    member: string,
    value: string,
  ): Promise<Entities[Name]> =>
    waitFor(() => store.find(collection, { member, value }), { what: `${value} to be found` });
  const owned = (fault: WriteFault | undefined) => {
    assert.equal(fault?.kind, "owned", JSON.stringify(fault));
    return fault?.kind === "owned" ? fault.owners : [];
  };

  test("adds a key to another writer's consumer and owns no other field of the consumer", () =>
    using(async (store, { apply, get }) => {
      await apply("Consumer", "ann", { username: "ann", tags: ["a"] }, "gitops");
      const ann = await found(store, "consumers", "username", "ann");
      assert.equal((await createIn(store, "keyauth_credentials", credentialEntity(ann, "one"))).fault, undefined);
      const { spec, metadata } = await get("consumers", "ann");
      assert.equal((spec.keyAuth as unknown[]).length, 1);
      const ours = (metadata.managedFields as { manager: string; fieldsV1: Record<string, object> }[]).find(
        ({ manager }) => manager === "sluice-admin",
      );
      assert.deepEqual(Object.keys(ours?.fieldsV1["f:spec"] ?? {}), ["f:keyAuth"]);
      // The other manager applies again, and the key from the store stays.
      await apply("Consumer", "ann", { username: "ann", tags: ["b"] }, "gitops");
      assert.equal(((await get("consumers", "ann")).spec.keyAuth as unknown[]).length, 1);
      assert.equal(isRemoved(await removeFrom(store, "keyauth_credentials", { member: "key", value: "one" })), true);
      const after = (await get("consumers", "ann")).spec;
      assert.deepEqual([after.username, after.tags, after.keyAuth], ["ann", ["b"], undefined]);
    }));

  test("names the manager that owns a consumer's list of keys, changes nothing, and leaves no new Secret", () =>
    using(async (store, { apply, kubectl }) => {
      await kubectl("create", "secret", "generic", "bob", "--from-literal=key=theirs");
      await kubectl("label", "secret", "bob", "sluice.dev/credential=key-auth");
      const keyAuth = [{ secretRef: { name: "bob", key: "key" } }];
      await apply("Consumer", "bob", { username: "bob", keyAuth });
      const bob = await found(store, "consumers", "username", "bob");
      const { fault } = await createIn(store, "keyauth_credentials", credentialEntity(bob, "mine"));
      assert.deepEqual(owned(fault), [{ manager: "kubectl-client-side-apply", field: ".spec.keyAuth" }]);
      const removal = await removeFrom(store, "keyauth_credentials", { member: "key", value: "theirs" });
      assert.deepEqual(owned(removal.fault), [{ manager: "kubectl-client-side-apply", field: ".spec.keyAuth" }]);
      assert.equal((await kubectl("get", "secrets", "-o", "name")).trim(), "secret/bob");
    }));

  test("changes a member of another manager only by force, and takes over only the changed member", () =>
    using(async (store, { apply, get }) => {
      await apply("Service", "users", { url: "http://a", retries: 3, tags: ["a"] }, "gitops");
      const users = await found(store, "services", "name", "users");
      const ours = { ...users, read_timeout: 5 };
      assert.equal((await replaceIn(store, "services", ours)).fault, undefined);
      assert.deepEqual(Object.keys(fieldsOf(await get("services", "users"))), ["f:readTimeout"]);
      const changed = { ...ours, retries: 4, tags: null };
      const { fault } = await replaceIn(store, "services", changed);
      assert.deepEqual(owned(fault).toSorted(byField), [
        { manager: "gitops", field: ".spec.retries" },
        { manager: "gitops", field: ".spec.tags" },
      ]);
      assert.equal((await store.find("services", { id: users.id }))?.retries, 3);
      const planned = await replaceIn(store, "services", changed, { plan: true });
      assert.equal(planned.fault?.kind, "owned");
      assert.equal((await replaceIn(store, "services", changed, { force: true })).fault, undefined);
      const now = await store.find("services", { id: users.id });
      assert.deepEqual([now?.retries, now?.tags, now?.read_timeout, now?.host], [4, null, 5, "a"]);
      assert.deepEqual(Object.keys(fieldsOf(await get("services", "users"))).sort(), ["f:readTimeout", "f:retries"]);
      // The store can remove fields that it owns.
      assert.equal((await replaceIn(store, "services", { ...changed, read_timeout: 60_000 })).fault, undefined);
    }));

  test("adds a target beside another manager's target and core Services, refuses to change that target, and removes it only by force", () =>
    using(async (store, { apply, get }) => {
      const targets = [{ target: "10.0.0.1:80", weight: 5 }];
      const backendRefs = [{ name: "core", port: 80, weight: 10 }];
      await apply("Upstream", "pool", { name: "pool.example", targets, backendRefs }, "gitops");
      const pool = await found(store, "upstreams", "name", "pool.example");
      const added = targetEntity(pool, "10.0.0.2:80");
      assert.equal((await createIn(store, "targets", added)).fault, undefined);
      assert.deepEqual(Object.keys(fieldsOf(await get("upstreams", "pool"))), ["f:targets"]);
      assert.deepEqual((await get("upstreams", "pool")).spec.backendRefs, backendRefs);
      const theirs = (await store.list("targets", { size: 9 })).entities.find(({ weight }) => weight === 5);
      assert.ok(theirs);
      const { fault } = await replaceIn(store, "targets", { ...theirs, weight: 6 });
      assert.deepEqual(owned(fault), [{ manager: "gitops", field: '.spec.targets[target="10.0.0.1:80"].weight' }]);
      const removal = await removeFrom(store, "targets", { id: theirs.id });
      assert.ok(owned(removal.fault).length > 0);
      assert.equal((await removeFrom(store, "targets", { id: theirs.id }, { force: true })).fault, undefined);
      assert.deepEqual(
        (await store.list("targets", { size: 9 })).entities.map(({ id }) => id),
        [added.id],
      );
      // The other manager applies again, and the target from the store stays.
      await apply("Upstream", "pool", { name: "pool.example", tags: ["theirs"] }, "gitops");
      assert.equal(((await get("upstreams", "pool")).spec.targets as unknown[]).length, 1);
    }));

  test("by force, replaces or removes another manager's fields in one change of the resource", () =>
    using(async (store, { apply, get }) => {
      const generation = async (kind: string, name: string) => Number((await get(kind, name)).metadata.generation);
      await apply("Service", "users", { backendRef: { name: "core", port: 80 }, tags: ["a"] }, "gitops");
      const users = await found(store, "services", "name", "users");
      const elsewhere = { ...users, host: "elsewhere.example", port: 81, tags: null };
      const refused = await replaceIn(store, "services", elsewhere);
      assert.deepEqual(
        owned(refused.fault)
          .map(({ field }) => field)
          .sort(),
        [".spec.backendRef.name", ".spec.backendRef.port", ".spec.tags"],
      );
      const before = await generation("services", "users");
      assert.equal((await replaceIn(store, "services", elsewhere, { force: true })).fault, undefined);
      const { spec, metadata } = await get("services", "users");
      assert.deepEqual(
        [spec.backendRef, spec.tags, spec.host, spec.port],
        [undefined, undefined, "elsewhere.example", 81],
      );
      assert.equal(metadata.generation, before + 1);

      await apply("Upstream", "pool", { name: "pool.example", targets: [{ target: "10.0.0.1:80", weight: 5 }] });
      await found(store, "upstreams", "name", "pool.example");
      const [theirs] = (await store.list("targets", { size: 9 })).entities;
      const at = await generation("upstreams", "pool");
      await removeFrom(store, "targets", { id: theirs?.id ?? "" }, { force: true });
      const pool = await get("upstreams", "pool");
      assert.deepEqual([pool.spec.targets, pool.metadata.generation], [undefined, at + 1]);
    }));

  test("undoes a batch if the API server refuses one of its writes", () =>
    using(async (store, { kubectl, name }) => {
      const policy = {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicy",
        metadata: { name },
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: ["sluice.dev"], apiVersions: ["*"], operations: ["CREATE"], resources: ["routes"] },
            ],
          },
          validations: [{ expression: `object.metadata.namespace != '${name}'`, message: "no routes here" }],
        },
      };
      const binding = {
        ...policy,
        kind: "ValidatingAdmissionPolicyBinding",
        spec: { policyName: name, validationActions: ["Deny"] },
      };
      for (const one of [policy, binding]) await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(one));
      const users = serviceEntity("users");
      await waitFor(
        async () => {
          const { fault } = await createIn(store, "routes", routeEntity({ name: "probe" }));
          if (!fault) await removeFrom(store, "routes", { member: "name", value: "probe" });
          return fault;
        },
        { what: "the policy to take effect" },
      );
      const { fault, index } = {
        index: -1,
        ...(await store.write([
          { op: "create", collection: "services", entity: users },
          { op: "create", collection: "routes", entity: routeEntity({ service: { id: users.id } }) },
        ])),
      };
      assert.match(JSON.stringify(fault), /no routes here/);
      assert.equal(index, 1);
      assert.equal((await kubectl("get", "services.sluice.dev,routes.sluice.dev", "-o", "name")).trim(), "");
    }));

  test("removes a resource of another manager only by force", () =>
    using(async (store, { apply, kubectl }) => {
      await apply("Service", "users", { url: "http://a" }, "gitops");
      const users = await found(store, "services", "name", "users");
      const ours = pluginEntity("cors", { service: { id: users.id } });
      assert.equal((await createIn(store, "plugins", ours)).fault, undefined);
      const { fault } = await removeFrom(store, "services", { id: users.id });
      assert.deepEqual(owned(fault), [{ manager: "gitops", field: ".spec" }]);
      assert.ok(await store.find("plugins", { id: ours.id }), "nothing is removed before all owners were checked");
      assert.equal(isRemoved(await removeFrom(store, "services", { id: users.id }, { force: true })), true);
      assert.equal((await kubectl("get", "services.sluice.dev,plugins.sluice.dev", "-o", "name")).trim(), "");
    }));

  // The claims of docs/how-to/use-gitops.md that are not about the admin API's own writes.
  test("a GitOps tool takes back its own fields by force, keeps the weights that the store sets, and prunes an upstream with its targets", () =>
    using(async (store, { sync, drift, get, kubectl }) => {
      const git = { url: "http://a", retries: 3 };
      await sync("Service", "users", git);
      const users = await found(store, "services", "name", "users");
      const ours = { ...users, retries: 5, read_timeout: 7 };
      assert.equal((await replaceIn(store, "services", ours, { force: true })).fault, undefined);
      await sync("Service", "users", git);
      const synced = (await get("services", "users")).spec;
      assert.deepEqual([synced.retries, synced.readTimeout], [3, 7]);
      await sync("Service", "users", { ...git, readTimeout: 8 });
      assert.equal((await get("services", "users")).spec.readTimeout, 8);

      const pool = { name: "pool.example", targets: [{ target: "10.0.0.1:80" }, { target: "10.0.0.2:80" }] };
      await sync("Upstream", "pool", pool);
      await found(store, "upstreams", "name", "pool.example");
      const [one] = (await store.list("targets", { size: 9 })).entities;
      assert.equal((await replaceIn(store, "targets", { ...(one ?? assert.fail()), weight: 9 })).fault, undefined);
      await sync("Upstream", "pool", pool);
      const weights = ((await get("upstreams", "pool")).spec.targets as { weight?: number }[]).map(
        ({ weight }) => weight,
      );
      assert.deepEqual(weights.toSorted(), [9, undefined]);
      assert.equal(await drift("Upstream", "pool", pool), "", "fields that Git does not set are no difference");
      await assert.rejects(drift("Upstream", "pool", { ...pool, tags: ["new"] }));
      await kubectl("delete", "upstreams.sluice.dev", "pool");
      await waitFor(async () => (await store.list("targets", { size: 9 })).entities.length === 0, {
        what: "the targets to be gone",
      });
    }));

  test("removes a route whose service was removed, so that the route's name is free again", () =>
    using(async (store, { kubectl }) => {
      const users = serviceEntity("users");
      await createIn(store, "services", users);
      const made = () => createIn(store, "routes", routeEntity({ name: "web", service: { id: users.id } }));
      assert.equal((await made()).fault, undefined);
      await kubectl("delete", "services.sluice.dev", "--all");
      const web = { member: "name", value: "web" };
      await waitFor(async () => (await store.find("routes", web)) === null, { what: "the route to become invalid" });
      assert.equal(isRemoved(await removeFrom(store, "routes", web)), true);
      await createIn(store, "services", users);
      assert.equal((await made()).fault, undefined);
    }));

  test("adds keys to a consumer while another writer keeps annotating the consumer's resource", () =>
    using(async (store, { kubectl }) => {
      const bob = consumerEntity("bob");
      await createIn(store, "consumers", bob);
      const [name = ""] = (
        await kubectl("get", "consumers.sluice.dev", "-o", "jsonpath={.items[*].metadata.name}")
      ).split(" ");
      let writing = true;
      const writer = (async () => {
        for (let count = 0; writing; count++)
          await kubectl("annotate", "--overwrite", "consumers.sluice.dev", name, `example.com/count=${count}`);
      })();
      for (let count = 0; count < 5; count++) {
        const { fault } = await createIn(store, "keyauth_credentials", credentialEntity(bob, `key-${count}`));
        assert.equal(fault, undefined);
      }
      writing = false;
      await writer;
      assert.equal((await store.list("keyauth_credentials", { size: 10 })).entities.length, 5);
    }));
});
