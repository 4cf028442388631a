/** The conformance suite of resource clients. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import {
  type Condition,
  Conflict,
  type Kind,
  type Resource,
  type ResourceClient,
  ResourceRejected,
} from "@sluice/crds";
import { createWitness, type RecordingObserver } from "./witness.ts";

export interface LeaseHolder {
  /** A new client of the same resources: two of them behave like two processes. */
  client(): ResourceClient;
  /** Returns the name of an existing namespace that no other call returns. */
  namespace(): Promise<string>;
}

const manager = "sluice-admin";
const apiVersion = "sluice.dev/v1alpha1";

export function describeResourceClient(name: string, holder: () => LeaseHolder): void {
  describe(`${name} as a resource client`, () => {
    let client: ResourceClient;
    let namespace: string;
    let stop: AbortController;

    beforeEach(async () => {
      client = holder().client();
      namespace = await holder().namespace();
      stop = new AbortController();
    });
    afterEach(async () => {
      stop.abort();
      await client.close();
    });

    const ref = (name: string, kind: Kind = "Service") => ({ kind, namespace, name });
    const service = (name: string, spec: Record<string, unknown> = {}, labels?: Record<string, string>): Resource => ({
      apiVersion,
      kind: "Service",
      metadata: { name, namespace, ...(labels ? { labels } : {}) },
      spec: { url: `http://${name}.example`, ...spec },
    });
    const put = (resource: Resource) => client.apply("Service", resource, { manager });
    const follow = async (options: { labels?: string } = {}): Promise<RecordingObserver> => {
      const witness = createWitness();
      client.watch("Service", witness, { namespace, signal: stop.signal, ...options });
      await witness.sees(({ reported }) => reported.length > 0, "the first list");
      return witness;
    };
    const isConflict = (reason: Conflict["reason"]) => (error: unknown) =>
      error instanceof Conflict && error.reason === reason;

    test("returns the applied resource, with identity and versions", async () => {
      const applied = await put(service("users", { retries: 2 }));
      const got = await client.get(ref("users"));
      assert.deepEqual(got, applied);
      assert.equal(got?.apiVersion, apiVersion);
      assert.equal(got?.kind, "Service");
      assert.deepEqual(got?.spec, { url: "http://users.example", retries: 2 });
      assert.match(got?.metadata.uid ?? "", /^[0-9a-f-]{36}$/);
      assert.match(got?.metadata.creationTimestamp ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.equal(typeof got?.metadata.generation, "number");
      assert.ok(got?.metadata.resourceVersion);
    });

    test("returns null for a missing resource", async () => {
      assert.equal(await client.get(ref("absent")), null);
      assert.equal(await client.get({ ...ref("absent"), namespace: "no-such-namespace" }), null);
    });

    test("lists a kind in one namespace or in all namespaces", async () => {
      await put(service("a"));
      await put(service("b"));
      await client.apply("Route", { ...service("a"), kind: "Route", spec: { paths: ["/a"] } }, { manager });
      const other = await holder().namespace();
      await put({ ...service("c"), metadata: { name: "c", namespace: other } });
      const names = (resources: readonly Resource[]) => resources.map(({ metadata }) => metadata.name).sort();
      assert.deepEqual(names(await client.list("Service", { namespace })), ["a", "b"]);
      const all = (await client.list("Service")).filter((one) => [namespace, other].includes(one.metadata.namespace));
      assert.deepEqual(names(all), ["a", "b", "c"]);
    });

    test("lists by labels", async () => {
      await put(service("plain"));
      await put(service("blue", {}, { colour: "blue" }));
      await put(service("red", {}, { colour: "red", size: "big" }));
      const table: readonly (readonly [labels: string, names: string])[] = [
        ["colour", "blue,red"],
        ["colour=blue", "blue"],
        ["colour==red,size", "red"],
        ["colour,size!=big", "blue"],
        ["!colour", "plain"],
      ];
      for (const [labels, expected] of table) {
        const found = await client.list("Service", { namespace, labels });
        assert.equal(
          found
            .map(({ metadata }) => metadata.name)
            .sort()
            .join(","),
          expected,
          labels,
        );
      }
    });

    test("first delivers all existing resources to a watch", async () => {
      for (const name of ["a", "b", "c"]) await put(service(name));
      assert.deepEqual((await follow()).reported, ["replaced a,b,c"]);
    });

    test("delivers creations, changes and removals to a watch in order", async () => {
      const witness = await follow();
      await put(service("a"));
      await witness.sees(({ reported }) => reported.length === 2, "the creation");
      await put(service("a", { retries: 1 }));
      await witness.sees(({ reported }) => reported.length === 3, "the change");
      assert.equal(witness.held("a")?.spec?.retries, 1);
      await client.remove(ref("a"));
      await witness.sees(({ reported }) => reported.length === 4, "the removal");
      assert.deepEqual(witness.reported, ["replaced ", "changed a", "changed a", "removed a"]);
    });

    test("notifies a watch with labels when a resource starts and stops matching", async () => {
      const witness = await follow({ labels: "colour=blue" });
      await put(service("a"));
      await put(service("a", {}, { colour: "blue" }));
      await witness.sees(({ reported }) => reported.length === 2, "the match");
      await client.apply("Service", service("a", {}, { colour: "red" }), { manager });
      await witness.sees(({ reported }) => reported.length === 3, "the end of the match");
      assert.deepEqual(witness.reported, ["replaced ", "changed a", "removed a"]);
    });

    test("notifies a watch of writes by another client", async () => {
      const witness = await follow();
      const other = holder().client();
      try {
        const written = await other.apply("Service", service("a"), { manager });
        await witness.sees(({ reported }) => reported.length === 2, "the other client's creation");
        assert.deepEqual(witness.held("a"), written);
        assert.deepEqual(await client.get(ref("a")), written);
      } finally {
        await other.close();
      }
    });

    test("continues a watch whose observer throws", async () => {
      const witness = createWitness();
      const angry = {
        replaced() {
          throw new Error("replaced");
        },
        changed(resource: Resource) {
          witness.changed(resource);
          throw new Error("changed");
        },
        removed: witness.removed,
      };
      client.watch("Service", angry, { namespace, signal: stop.signal });
      await put(service("a"));
      await put(service("b"));
      await client.remove(ref("b"));
      await put(service("c"));
      await witness.sees(({ reported }) => reported.includes("changed c"), "the change after the throws");
    });

    test("delivers nothing to a watch after the abort of its signal", async () => {
      const following = await follow();
      const [never, once] = [createWitness(), createWitness()];
      const own = new AbortController();
      client.watch("Service", once, { namespace, signal: own.signal });
      await once.sees(({ reported }) => reported.length === 1, "the first list");
      client.watch("Service", never, { namespace, signal: own.signal });
      own.abort();
      await put(service("a"));
      await following.sees(({ reported }) => reported.length === 2, "the creation");
      assert.deepEqual(never.reported, []);
      assert.deepEqual(once.reported, ["replaced "]);
    });

    test("treats an apply as the manager's full set of fields: omitted fields are removed", async () => {
      await put(service("a", { retries: 1, tags: ["x"] }, { "sluice.dev/mark": "1" }));
      const after = await put(service("a", { tags: ["y"] }));
      assert.deepEqual(after.spec, { url: "http://a.example", tags: ["y"] });
      assert.equal(after.metadata.labels?.["sluice.dev/mark"], undefined);
    });

    test("increases the generation when the spec changes, and changes the version only when the resource changes", async () => {
      const first = (await put(service("a"))).metadata;
      const same = (await put(service("a"))).metadata;
      assert.deepEqual(
        [same.generation, same.resourceVersion, same.uid],
        [first.generation, first.resourceVersion, first.uid],
      );
      const second = (await put(service("a", { retries: 1 }))).metadata;
      assert.ok((second.generation ?? 0) > (first.generation ?? 0));
      assert.notEqual(second.resourceVersion, first.resourceVersion);
      assert.equal(second.uid, first.uid);
      assert.equal(second.creationTimestamp, first.creationTimestamp);
    });

    test("creates a resource with the expectation `absent` only if the resource does not exist", async () => {
      await client.apply("Service", service("a"), { manager, expect: "absent" });
      await assert.rejects(
        client.apply("Service", service("a", { retries: 1 }), { manager, expect: "absent" }),
        isConflict("exists"),
      );
      assert.equal((await client.get(ref("a")))?.spec?.retries, undefined);
    });

    test("lets exactly one of several simultaneous creations of one name succeed", async () => {
      const attempts = [1, 2, 3, 4].map((retries) =>
        client.apply("Service", service("a", { retries }), { manager, expect: "absent" }),
      );
      const results = await Promise.allSettled(attempts);
      assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
      for (const result of results) if (result.status === "rejected") assert.ok(isConflict("exists")(result.reason));
    });

    test("with a uid and a version, changes only the object with this uid at this version", async () => {
      const first = await put(service("a"));
      const expect = {
        uid: first.metadata.uid ?? "",
        resourceVersion: first.metadata.resourceVersion ?? "",
      };
      const second = await client.apply("Service", service("a", { retries: 1 }), { manager, expect });
      assert.equal(second.spec?.retries, 1);
      const change = client.apply("Service", service("a", { retries: 2 }), { manager, expect });
      await assert.rejects(change, isConflict("changed"));
      await client.remove(ref("a"));
      const revival = client.apply("Service", service("a"), { manager, expect });
      await assert.rejects(revival, isConflict("changed"));
      assert.equal(await client.get(ref("a")), null);
    });

    test("refuses invalid names", async () => {
      for (const name of ["../evil", "Upper", "a_b"]) await assert.rejects(put(service(name)), ResourceRejected, name);
    });

    test("removes a resource unless its uid differs from the given uid, and reports whether the resource existed", async () => {
      const { uid } = (await put(service("a"))).metadata;
      await assert.rejects(
        client.remove(ref("a"), { uid: "00000000-0000-4000-8000-000000000000" }),
        isConflict("changed"),
      );
      assert.equal(await client.remove(ref("a"), { uid }), true);
      assert.equal(await client.get(ref("a")), null);
      assert.equal(await client.remove(ref("a")), false);
    });

    const accepted: Condition = { type: "Accepted", status: "True", reason: "Accepted", message: "It is in use." };
    const programmed: Condition = { type: "Programmed", status: "False", reason: "Pending", message: "On its way." };

    test("writes conditions without changing the generation", async () => {
      const { generation } = (await put(service("a"))).metadata;
      await client.setConditions(ref("a"), [{ ...accepted, observedGeneration: generation }], { manager: "op" });
      const got = await client.get(ref("a"));
      assert.equal(got?.metadata.generation, generation);
      const [condition] = got?.status?.conditions ?? [];
      assert.match(condition?.lastTransitionTime ?? "", /^\d{4}-.*Z$/);
      assert.deepEqual(
        { ...condition, lastTransitionTime: undefined },
        { ...accepted, observedGeneration: generation, lastTransitionTime: undefined },
      );
      const after = await put(service("a", { retries: 3 }));
      assert.equal(after.status?.conditions?.length, 1, "an apply never touches the status");
    });

    test("keeps the conditions of other writers, and the writer's own conditions that a write omits", async () => {
      await put(service("a"));
      await client.setConditions(ref("a"), [{ ...accepted, type: "Foreign" }], { manager: "somebody" });
      await client.setConditions(ref("a"), [accepted], { manager: "op" });
      await client.setConditions(ref("a"), [programmed], { manager: "op" });
      const types = (await client.get(ref("a")))?.status?.conditions?.map(({ type }) => type).sort();
      assert.deepEqual(types, ["Accepted", "Foreign", "Programmed"]);
    });

    test("keeps the conditions of other writers if the caller passes the resource that it has read", async () => {
      await put(service("a"));
      await client.setConditions(ref("a"), [{ ...accepted, type: "Foreign" }], { manager: "somebody" });
      for (const reason of ["First", "Second"]) {
        const read = await client.get(ref("a"));
        assert.ok(read);
        await client.setConditions(ref("a"), [{ ...accepted, reason }], { manager: "op", read });
      }
      const said = (await client.get(ref("a")))?.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`);
      assert.deepEqual(said?.sort(), ["Accepted Second", "Foreign Accepted"]);
    });

    test("keeps the transition time of a condition while the condition's status is unchanged", async () => {
      await put(service("a"));
      const time = async () => (await client.get(ref("a")))?.status?.conditions?.[0]?.lastTransitionTime;
      await client.setConditions(ref("a"), [accepted], { manager: "op" });
      const first = await time();
      await client.setConditions(ref("a"), [{ ...accepted, message: "Other words." }], { manager: "op" });
      assert.equal(await time(), first);
    });

    test("writes nothing if no condition changes or if the resource is missing", async () => {
      await put(service("a"));
      await client.setConditions(ref("a"), [accepted, programmed], { manager: "op" });
      const version = (await client.get(ref("a")))?.metadata.resourceVersion;
      await client.setConditions(ref("a"), [programmed], { manager: "op" });
      await client.setConditions(ref("a"), [accepted, programmed], { manager: "op" });
      assert.equal((await client.get(ref("a")))?.metadata.resourceVersion, version);
      await client.setConditions(ref("absent"), [accepted], { manager: "op" });
      assert.equal(await client.get(ref("absent")), null);
    });

    test("notifies a watch of conditions", async () => {
      await put(service("a"));
      const witness = await follow();
      await client.setConditions(ref("a"), [accepted], { manager: "op" });
      await witness.sees(({ reported }) => reported.length === 2, "the condition");
      assert.equal(witness.held("a")?.status?.conditions?.[0]?.type, "Accepted");
    });

    test("lets holders of a mutex run one at a time, and tells each holder whether another process may have held the mutex since the holder's own process last held it", async () => {
      const other = holder().client();
      const of = { namespace, name: "sluice-admin" };
      let running = 0;
      const run = (by: ResourceClient) =>
        by.withMutex(of, async ({ othersMayHaveWritten: others }) => {
          assert.equal(++running, 1);
          await new Promise(setImmediate);
          running--;
          return others;
        });
      try {
        assert.equal(await run(client), true);
        assert.deepEqual(await Promise.all([run(client), run(client)]), [false, false]);
        assert.equal(await run(other), true);
        await assert.rejects(
          client.withMutex(of, () => Promise.reject(new Error("no"))),
          /no/,
        );
        assert.deepEqual(await Promise.all([run(client), run(client)]), [false, false]);
        await Promise.all([run(client), run(other), run(client), run(other)]);
      } finally {
        await other.close();
      }
    });

    test("accepts events for existing and for missing resources", async () => {
      await put(service("a"));
      const event = { type: "Warning", reason: "Invalid", message: "No.", reporter: "sluice.dev/operator" } as const;
      for (const name of ["a", "a", "absent"]) await client.recordEvent(ref(name), event);
    });
  });
}
