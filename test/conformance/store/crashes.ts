/** Stores over resources: writers that die, writes that the API rejects, Secrets of entities, and late watch events. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { batchMark, isManaged, type Kind, type Resource, type ResourceClient, ResourceRejected } from "@sluice/crds";
import type { Entity } from "@sluice/model";
import type { Write } from "../../../gateway/src/stores/store.ts";
import { waitFor } from "../../../tools/process/index.ts";
import {
  certificateEntity,
  consumerEntity,
  credentialEntity,
  pluginEntity,
  routeEntity,
  serviceEntity,
  sniEntity,
} from "./entities.ts";
import { createIn, isRemoved, removeFrom, replaceIn, type StoreOpener } from "./resource-store.ts";

export interface InjectedFaults {
  /**
   * Called and awaited before each apply and remove, except an apply of a Lease. The client throws the error that this
   * function throws.
   */
  before?: undefined | ((write: TroubledWrite) => void | Promise<void>);
  /**
   * Writers believe that they hold the Lease, like a process that was suspended while another process acquired the
   * Lease.
   */
  isOutOfTurn?: boolean;
  /** Milliseconds by which watch events are delayed. */
  lag?: number;
}

interface TroubledWrite {
  readonly op: "apply" | "remove";
  readonly kind: Kind;
  readonly name: string;
  /** The applied resource. */
  readonly resource?: Resource;
}

/** A client with the faults that the test has set. */
export function withFaults(client: ResourceClient, faults: InjectedFaults): ResourceClient {
  return {
    ...client,
    async apply(kind, resource, options) {
      if (kind !== "Lease") await faults.before?.({ kind, name: resource.metadata.name, op: "apply", resource });
      return client.apply(kind, resource, options);
    },
    async remove(ref, options) {
      await faults.before?.({ ...ref, op: "remove" });
      return client.remove(ref, options);
    },
    withMutex: (of, run) => (faults.isOutOfTurn ? run({ othersMayHaveWritten: false }) : client.withMutex(of, run)),
    watch(kind, observer, options) {
      const late =
        <Args extends readonly unknown[]>(tell: (...given: Args) => void) =>
        (...given: Args): void => {
          const { lag } = faults;
          if (lag === undefined) tell(...given);
          else setTimeout(() => tell(...given), lag);
        };
      client.watch(
        kind,
        {
          replaced: late((list: readonly Resource[]) => observer.replaced(list)),
          changed: late((resource: Resource) => observer.changed(resource)),
          removed: late((resource: Resource) => observer.removed(resource)),
          lost: (error) => observer.lost?.(error),
        },
        options,
      );
    },
  };
}

export interface TroubledHolder extends StoreOpener {
  readonly faults: InjectedFaults;
  /** Another client of the same resources, without the faults. */
  client(): ResourceClient;
  /** Whether the resource belongs to this test. */
  isOurs(resource: Resource): boolean;
}

const kinds = ["Certificate", "Upstream", "Service", "Route", "Consumer", "Plugin"] as const;
const write = (op: "create" | "replace", collection: Write["collection"], entity: Entity): Write => ({
  op,
  collection,
  entity,
});

class Died extends Error {}

export function describeCrashes(name: string, hold: () => Promise<TroubledHolder>): void {
  describe(`a store over the resources of ${name}`, () => {
    const using = async (run: (holder: TroubledHolder, all: () => Promise<readonly Resource[]>) => Promise<void>) => {
      const holder = await hold();
      const client = holder.client();
      const all = async () => (await Promise.all(kinds.map((kind) => client.list(kind)))).flat().filter(holder.isOurs);
      try {
        await run(holder, all);
      } finally {
        holder.faults.before = undefined;
        await client.close();
        await holder.close();
      }
    };
    const secrets = async ({ client, isOurs }: TroubledHolder) => {
      const reader = client();
      try {
        return (await reader.list("Secret")).filter((secret) => isManaged(secret) && isOurs(secret));
      } finally {
        await reader.close();
      }
    };

    test("leaves no Secret behind when the consumer's resource is refused", () =>
      using(async (holder) => {
        const store = holder.open();
        const bob = consumerEntity("bob");
        await createIn(store, "consumers", bob);
        holder.faults.before = ({ kind }) => {
          if (kind === "Consumer") throw new ResourceRejected("no consumers today");
        };
        const { fault } = await createIn(store, "keyauth_credentials", credentialEntity(bob, "secret"));
        assert.deepEqual(fault, {
          kind: "invalid",
          violations: [{ path: ["@entity"], message: "no consumers today" }],
        });
        assert.deepEqual(await secrets(holder), []);
      }));

    test("undoes a batch if one of its writes is refused, and reports the refused write", () =>
      using(async (holder, all) => {
        const store = holder.open();
        const users = serviceEntity("users", { tags: ["before"] });
        const gone = serviceEntity("gone");
        await store.write([write("create", "services", users), write("create", "services", gone)]);
        const web = routeEntity({ name: "web", service: { id: users.id } });
        holder.faults.before = ({ kind }) => {
          if (kind === "Plugin") throw new ResourceRejected("no plugins today");
        };
        const before = (await all()).map(({ spec }) => spec);
        const { fault, index } = {
          index: -1,
          ...(await store.write([
            write("replace", "services", { ...users, tags: ["after"] }),
            { op: "remove", collection: "services", by: { id: gone.id } },
            write("create", "routes", web),
            write("create", "plugins", pluginEntity("cors", { route: { id: web.id } })),
          ])),
        };
        assert.deepEqual([fault?.kind, index], ["invalid", 3]);
        holder.faults.before = undefined;
        await waitFor(async () => (await all()).every((resource) => !batchMark(resource)), {
          what: "all batch marks to be removed",
        });
        assert.deepEqual(
          (await all()).map(({ spec }) => spec),
          before,
        );
        assert.deepEqual((await store.find("services", { id: users.id }))?.tags, ["before"]);
        assert.equal(await store.find("routes", { id: web.id }), null);
      }));

    test("undoes the incomplete batch of a writer that died", () =>
      using(async (holder, all) => {
        const store = holder.open();
        const users = serviceEntity("users", { tags: ["before"] });
        await createIn(store, "services", users);
        let writes = 0;
        holder.faults.before = () => {
          if (++writes > 3) throw new Died();
        };
        const routes = Array.from({ length: 6 }, (_, index) =>
          write("create", "routes", routeEntity({ name: `r${index}`, service: { id: users.id } })),
        );
        const batch = [write("replace", "services", { ...users, tags: ["after"] }), ...routes];
        await assert.rejects(store.write(batch));
        assert.ok((await all()).some((resource) => batchMark(resource)));
        holder.faults.before = undefined;
        // Another process starts and writes.
        const other = holder.open();
        await createIn(other, "services", serviceEntity("other"));
        const left = await all();
        assert.deepEqual(
          left.map(({ kind, metadata }) => [kind, batchMark({ metadata })]),
          [
            ["Service", undefined],
            ["Service", undefined],
          ],
        );
        assert.deepEqual((await other.find("services", { id: users.id }))?.tags, ["before"]);
      }));

    test("undoes a failed batch before the next write, if it could not be undone immediately", () =>
      using(async (holder, all) => {
        const store = holder.open();
        const users = serviceEntity("users");
        let writes = 0;
        holder.faults.before = () => {
          if (++writes > 1) throw new Died();
        };
        await assert.rejects(
          store.write([write("create", "services", users), write("create", "services", serviceEntity("people"))]),
        );
        holder.faults.before = undefined;
        assert.equal((await all()).length, 1);
        await createIn(store, "services", serviceEntity("other"));
        assert.deepEqual(
          (await store.list("services", { size: 9 })).entities.map(({ name }) => name),
          ["other"],
        );
      }));

    test("executes a batch completely, or refuses it completely, if another process writes while the batch's last call hangs", () =>
      using(async (holder, all) => {
        holder.faults.isOutOfTurn = true;
        const store = holder.open();
        await createIn(store, "services", serviceEntity("before"));
        let isHanging = false;
        const hanging = Promise.withResolvers<void>();
        holder.faults.before = async ({ resource }) => {
          if (batchMark(resource ?? { metadata: { name: "", namespace: "" } })?.completes !== true || isHanging) return;
          isHanging = true;
          await hanging.promise;
        };
        const batch = ["a", "b", "c"].map((word) => write("create", "services", serviceEntity(word)));
        const written = store.write(batch);
        await waitFor(async () => isHanging, { what: "the last call to hang" });
        holder.faults.isOutOfTurn = false;
        const other = holder.open();
        await createIn(other, "services", serviceEntity("other")).finally(hanging.resolve);
        const { fault } = await written;
        // The next writer finds no half-written batch to repair.
        await createIn(holder.open(), "services", serviceEntity("next"));
        const names = (await all()).map(({ spec }) => String(spec?.name)).sort();
        assert.deepEqual(names, ["before", "next", "other", ...(fault ? [] : ["a", "b", "c"])].sort());
        await waitFor(async () => (await all()).every((resource) => !batchMark(resource)), {
          what: "all batch marks to be removed",
        });
      }));

    test("cleans up after a complete batch whose writer died before the clean-up", () =>
      using(async (holder, all) => {
        const store = holder.open();
        const [gone, users] = [serviceEntity("gone"), serviceEntity("users")];
        await createIn(store, "services", gone);
        let isComplete = false;
        holder.faults.before = ({ op }) => {
          if (op === "remove" || isComplete) throw new Died();
        };
        const batch = [
          { op: "remove", collection: "services", by: { id: gone.id } } as const,
          write("create", "services", users),
          write("create", "services", serviceEntity("people")),
        ];
        const { effects } = await store.write(batch);
        isComplete = true;
        assert.equal(effects?.length, 3);
        assert.equal(await store.find("services", { id: gone.id }), null, "a batch removes its resources at once");
        await waitFor(async () => (await all()).some((resource) => batchMark(resource)), {
          what: "batch marks on the resources",
        });
        holder.faults.before = undefined;
        const other = holder.open();
        assert.equal(await other.find("services", { id: gone.id }), null);
        await createIn(other, "services", serviceEntity("other"));
        await waitFor(async () => (await all()).every((resource) => !batchMark(resource)), {
          what: "all batch marks to be removed",
        });
        assert.equal((await all()).length, 3);
      }));

    test("removes at its start the Secrets that a dead writer left behind, and no other Secrets", () =>
      using(async (holder) => {
        const store = holder.open();
        const bob = consumerEntity("bob");
        await createIn(store, "consumers", bob);
        await createIn(store, "keyauth_credentials", credentialEntity(bob, "used"));
        const pair = await certificateEntity();
        await createIn(store, "certificates", pair);
        await createIn(store, "snis", sniEntity(pair, "a.example"));
        holder.faults.before = ({ kind, op }) => {
          // Simulates kill -9 between the writes of the Secret and the Consumer, so no clean-up runs.
          if (kind === "Consumer" || op === "remove") throw new Died();
        };
        await assert.rejects(createIn(store, "keyauth_credentials", credentialEntity(bob, "orphan")));
        holder.faults.before = undefined;
        assert.equal((await secrets(holder)).length, 3);
        holder.open(60_000);
        const third = holder.open(-5000);
        await waitFor(async () => (await secrets(holder)).length === 2, {
          what: "the unreferenced Secret to be removed",
        });
        assert.equal((await third.find("keyauth_credentials", { member: "key", value: "used" }))?.key, "used");
        assert.equal((await third.find("certificates", { id: pair.id }))?.key, pair.key);
      }));

    test("removes the Secrets of removed and replaced entities", () =>
      using(async (holder) => {
        const store = holder.open();
        const bob = consumerEntity("bob");
        await createIn(store, "consumers", bob);
        const key = credentialEntity(bob, "one");
        await createIn(store, "keyauth_credentials", key);
        const pair = await certificateEntity(0);
        await createIn(store, "certificates", pair);
        assert.equal((await secrets(holder)).length, 2);
        await replaceIn(store, "keyauth_credentials", { ...key, key: "two" });
        await replaceIn(store, "certificates", await certificateEntity(1, { id: pair.id }));
        await waitFor(async () => (await secrets(holder)).length === 2, { what: "the replaced Secrets to be removed" });
        assert.ok(isRemoved(await removeFrom(store, "consumers", { id: bob.id })));
        assert.ok(isRemoved(await removeFrom(store, "certificates", { id: pair.id })));
        await waitFor(async () => (await secrets(holder)).length === 0, { what: "all Secrets to be removed" });
      }));

    test("keeps a plugin's password in a Secret, and returns it", () =>
      using(async (holder, all) => {
        const store = holder.open();
        const redis = { host: "redis.example", password: "hidden" };
        const limit = pluginEntity("rate-limiting", { config: { minute: 5, policy: "redis", redis } });
        const passwordOf = async () =>
          Object((await store.find("plugins", { id: limit.id }))?.config.redis).password as unknown;
        await createIn(store, "plugins", limit);
        assert.equal(await passwordOf(), "hidden");
        assert.doesNotMatch(JSON.stringify(await all()), /hidden/);
        const [made] = await secrets(holder);
        assert.ok(made);
        // A write with the same password keeps the Secret; a different password needs a new Secret.
        await replaceIn(store, "plugins", { ...limit, config: { ...limit.config, minute: 6 } });
        assert.deepEqual(
          (await secrets(holder)).map(({ metadata }) => metadata.name),
          [made.metadata.name],
        );
        const other = { ...limit.config, redis: { ...Object(limit.config.redis), password: "other" } };
        await replaceIn(store, "plugins", { ...limit, config: other });
        assert.equal(await passwordOf(), "other");
        assert.doesNotMatch(JSON.stringify(await all()), /other/);
        const without = { ...limit.config, redis: { ...Object(limit.config.redis), password: null } };
        await replaceIn(store, "plugins", { ...limit, config: without });
        assert.equal(await passwordOf(), null);
        await waitFor(async () => (await secrets(holder)).length === 0, { what: "the Secrets to be removed" });
      }));

    test("keeps in a Secret the secret that is the only item of a list, and returns the list", () =>
      using(async (holder, all) => {
        const store = holder.open();
        const config = { issuer: "https://login.test", auth_methods: ["bearer"], client_secret: ["hidden"] };
        const login = pluginEntity("openid-connect", { config });
        await createIn(store, "plugins", login);
        const secretOf = async () => (await store.find("plugins", { id: login.id }))?.config.client_secret;
        assert.deepEqual(await secretOf(), ["hidden"]);
        assert.doesNotMatch(JSON.stringify(await all()), /hidden/);
        const [made] = await secrets(holder);
        await replaceIn(store, "plugins", { ...login, config: { ...login.config, leeway: 5 } });
        assert.deepEqual(
          (await secrets(holder)).map(({ metadata }) => metadata.name),
          [made?.metadata.name],
        );
        assert.deepEqual(await secretOf(), ["hidden"]);
      }));

    test("sees its own writes at once while watches lag behind", () =>
      using(async (holder) => {
        const store = holder.open();
        await store.list("services", { size: 1 });
        holder.faults.lag = 200;
        for (const word of ["a", "b", "c"]) {
          const made = serviceEntity(word);
          await createIn(store, "services", made);
          assert.equal((await store.find("services", { id: made.id }))?.name, word);
          assert.equal((await createIn(store, "services", made)).fault?.kind, "primary-key");
        }
        const first = serviceEntity("a");
        await removeFrom(store, "services", { id: first.id });
        assert.equal(await store.find("services", { id: first.id }), null);
      }));
  });
}
