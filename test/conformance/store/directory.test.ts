import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createDirectoryClient, createDirectoryRevisionStorage } from "@sluice/crds";
import { registerPlugins } from "@sluice/model";
import { type Store, StoreUnavailable } from "../../../gateway/src/stores/store.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { deviceTokenFacts } from "../../plugins/device-token.ts";
import { quietLog } from "../resource-client/log.ts";
import { describeCrashes, type InjectedFaults, withFaults } from "./crashes.ts";
import { credentialEntity, entity, pluginEntity, routeEntity, serviceEntity } from "./entities.ts";
import { createOperatorRecorder } from "./operator-recorder.ts";
import { createIn, createOpener, isRemoved, removeFrom, replaceIn, type StoreOpener } from "./resource-store.ts";
import { describeStore } from "./suite.ts";

registerPlugins([deviceTokenFacts]);

interface DirectoryHolder extends StoreOpener {
  recorded(): Promise<void>;
  readonly directory: string;
  write(name: string, text: string): Promise<void>;
}

async function hold(): Promise<DirectoryHolder> {
  const folder = temporaryFolder("store");
  const storage = () => createDirectoryRevisionStorage({ directory: folder.path, class: "sluice" });
  const connect = () => createDirectoryClient({ directory: folder.path, log: quietLog });
  const opener = createOpener(connect, { homeNamespace: "default", class: "sluice", revisions: storage() });
  const recordingClient = connect();
  const recorder = createOperatorRecorder(recordingClient, storage());
  return {
    ...opener,
    async recorded() {
      await opener.settled();
      await recorder.recorded();
    },
    directory: folder.path,
    write: (name, text) => writeFile(join(folder.path, name), text),
    async close() {
      await recorder.close();
      await recordingClient.close();
      await opener.close();
      folder.remove();
    },
  };
}

describeStore("a directory", hold, { ofWrites: false });

describeCrashes("a directory", async () => {
  const folder = temporaryFolder("store");
  const faults: InjectedFaults = {};
  const client = () => createDirectoryClient({ directory: folder.path, log: quietLog });
  const opener = createOpener(() => withFaults(client(), faults), { homeNamespace: "default", class: "sluice" });
  return {
    ...opener,
    faults,
    client,
    isOurs: () => true,
    async close() {
      await opener.close();
      folder.remove();
    },
  };
});

describe("a store in a directory with files of users", () => {
  const using = async (
    run: (store: Store, holder: DirectoryHolder) => Promise<void>,
    files: Record<string, string>,
  ) => {
    const holder = await hold();
    try {
      for (const [name, text] of Object.entries(files)) await holder.write(name, text);
      await run(holder.open(), holder);
    } finally {
      await holder.close();
    }
  };
  const head = (kind: string, name: string, namespace = "default") =>
    `apiVersion: sluice.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name}, namespace: ${namespace} }\n`;

  test("shows resources written by hand: names, ids and references follow from the resources", () =>
    using(
      async (store) => {
        const found = await store.find("services", { member: "name", value: "shop.cart" });
        assert.equal(found?.host, "cart.shop.svc");
        const { entities } = await store.list("routes", { size: 10 });
        assert.deepEqual(
          entities.map(({ name, service }) => [name, service]),
          [["shop.cart", { id: found?.id }]],
        );
        const [limit] = (await store.list("plugins", { size: 10 })).entities;
        assert.equal(Object(limit?.config.redis).password, null, "values from a Secret are not shown");
      },
      {
        "cart.yaml": `${head("Service", "cart", "shop")}spec: { backendRef: { name: cart, port: 80 } }\n---\n${head("Route", "cart", "shop")}spec: { serviceRef: { name: cart }, paths: [/cart] }\n`,
        "limit.yaml": `${head("Plugin", "limit")}spec:\n  plugin: rate-limiting\n  config: { minute: 5, policy: redis, redis: { host: redis } }\n  configFrom: [{ path: redis.password, secretRef: { name: redis, key: password } }]\n`,
        "secret.yaml": `apiVersion: v1\nkind: Secret\nmetadata: { name: redis, labels: { sluice.dev/credential: redis } }\nstringData: { password: hidden }\n`,
      },
    ));

  test("omits resources that are invalid or of another class, and shows all others", () =>
    using(
      async (store) => {
        const { entities } = await store.list("services", { size: 10 });
        assert.deepEqual(
          entities.map(({ name }) => name),
          ["good"],
        );
        // An invalid resource can be removed, but not a resource of another class.
        const named = (value: string) => ({ member: "name", value });
        assert.equal(isRemoved(await removeFrom(store, "services", named("bad"))), true);
        assert.equal(isRemoved(await removeFrom(store, "services", named("other"))), false);
      },
      {
        "good.yaml": `${head("Service", "good")}spec: { url: "http://a" }\n`,
        "bad.yaml": `${head("Service", "bad")}spec: { url: "http://a", retries: -1 }\n`,
        "broken.yaml": "kind: [",
        "other.yaml": `${head("Service", "other")}spec: { url: "http://a", class: other }\n`,
      },
    ));

  test("refuses the name of an invalid resource, because the resource is older and would take precedence once it is repaired", () =>
    using(
      async (store) => {
        const taken = await createIn(store, "services", serviceEntity("bad", { id: randomUUID() }));
        assert.deepEqual(taken.fault, { kind: "unique", members: { name: "bad" } });
        const same = await createIn(store, "services", serviceEntity("bad"));
        assert.equal(same.fault?.kind, "primary-key");
        await removeFrom(store, "services", { member: "name", value: "bad" });
        assert.equal((await createIn(store, "services", serviceEntity("bad"))).fault, undefined);
      },
      { "bad.yaml": `${head("Service", "bad")}spec: { url: "http://a", retries: -1 }\n` },
    ));

  test("writes a resource into the namespace of the resource to which it refers, and refuses keys of consumers and secrets of plugins outside the home namespace", () =>
    using(
      async (store, { directory, waited }) => {
        const cart = await store.find("services", { member: "name", value: "shop.cart" });
        const made = await createIn(store, "routes", routeEntity({ name: "new", service: { id: cart?.id } }));
        await made.programmed?.(0);
        assert.equal(waited.at(-1)?.[0]?.namespace, "shop");
        const ann = await store.find("consumers", { member: "username", value: "ann" });
        const { fault } = await createIn(store, "keyauth_credentials", credentialEntity({ id: ann?.id ?? "" }, "k"));
        assert.equal(fault?.kind, "invalid");
        assert.match(JSON.stringify(fault), /is in the namespace shop/);
        const limit = pluginEntity("rate-limiting", {
          service: { id: cart?.id ?? "" },
          config: { minute: 5, policy: "redis", redis: { host: "redis", password: "hidden" } },
        });
        const secret = await createIn(store, "plugins", limit);
        assert.equal(secret.fault?.kind, "invalid");
        assert.match(JSON.stringify(secret.fault), /"config","redis","password".*is in the namespace shop/);
        assert.deepEqual(
          (await readdir(directory)).filter((name) => name === "secret"),
          [],
        );
      },
      {
        "cart.yaml": `${head("Service", "cart", "shop")}spec: { url: "http://a" }\n`,
        "ann.yaml": `${head("Consumer", "ann", "shop")}spec: { username: ann }\n`,
      },
    ));

  test("adds keys to a user's consumer and removes keys that a user wrote, but not the user's Secret", () =>
    using(
      async (store, { directory }) => {
        const demo = await store.find("consumers", { member: "username", value: "demo" });
        assert.ok(demo);
        const added = await createIn(store, "keyauth_credentials", credentialEntity(demo, "added"));
        assert.equal(added.fault, undefined);
        assert.equal(
          isRemoved(await removeFrom(store, "keyauth_credentials", { member: "key", value: "demo-key" })),
          true,
        );
        const { entities } = await store.list("keyauth_credentials", { size: 10 });
        assert.deepEqual(
          entities.map(({ key }) => key),
          ["added"],
        );
        assert.ok((await readdir(directory)).includes("secret.yaml"));
        assert.equal((await store.find("consumers", { id: demo.id }))?.custom_id, "42");
      },
      {
        "demo.yaml": `${head("Consumer", "demo")}spec:\n  username: demo\n  customId: "42"\n  keyAuth: [{ secretRef: { name: demo, key: key } }]\n`,
        "secret.yaml": `apiVersion: v1\nkind: Secret\nmetadata: { name: demo, labels: { sluice.dev/credential: key-auth } }\nstringData: { key: demo-key }\n`,
      },
    ));

  test("refuses a key beyond a consumer's maximum, and leaves no Secret for the key", () =>
    using(
      async (store, { directory }) => {
        const bob = await store.find("consumers", { member: "username", value: "bob" });
        const { fault } = await createIn(
          store,
          "keyauth_credentials",
          credentialEntity({ id: bob?.id ?? "" }, "too many"),
        );
        assert.equal(fault?.kind, "invalid");
        assert.match(JSON.stringify(fault), /keyAuth: length must be at most 64/);
        assert.ok(!(await readdir(directory)).includes("secret"));
      },
      {
        "bob.yaml": `${head("Consumer", "bob")}spec:\n  username: bob\n  keyAuth:\n${"    - { secretRef: { name: a, key: key } }\n".repeat(64)}`,
      },
    ));

  test("writes the key and the secrets of a plugin's credential to Secrets, and removes these with the credential", () =>
    using(
      async (store, { directory }) => {
        const bob = await store.find("consumers", { member: "username", value: "bob" });
        const config = { model: "x1", pin: "the-pin" };
        const given = { consumer: { id: bob?.id }, plugin: "device-token", key: "the-token", config };
        const { id } = entity("plugin_credentials", { id: randomUUID(), ...given });
        const made = entity("plugin_credentials", { id, ...given });
        assert.equal((await createIn(store, "plugin_credentials", made)).fault, undefined);
        const changed = { ...made, config: { ...config, model: "x2" } };
        const write = { op: "replace", collection: "plugin_credentials", entity: changed } as const;
        assert.equal((await store.write([write])).fault, undefined);
        const consumer = await readFile(join(directory, "bob.yaml"), "utf8");
        assert.match(consumer, /model: x2/);
        assert.doesNotMatch(consumer, /the-pin|the-token/);
        assert.deepEqual((await store.find("plugin_credentials", { id }))?.config, changed.config);
        assert.equal((await readdir(join(directory, "secret"))).length, 2);
        assert.equal(isRemoved(await removeFrom(store, "plugin_credentials", { id })), true);
        await waitFor(async () => (await readdir(join(directory, "secret"))).length === 0, {
          what: "both Secrets to be removed",
        });
      },
      { "bob.yaml": `${head("Consumer", "bob")}spec: { username: bob }\n` },
    ));

  test("removes both entries of a group that a user listed twice", () =>
    using(
      async (store) => {
        const [staff] = (await store.list("acls", { size: 10 })).entities;
        assert.equal(staff?.group, "staff");
        assert.equal(isRemoved(await removeFrom(store, "acls", { id: staff.id })), true);
        assert.deepEqual((await store.list("acls", { size: 10 })).entities, []);
        const bob = await store.find("consumers", { member: "username", value: "bob" });
        assert.equal(
          (await createIn(store, "acls", entity("acls", { consumer: bob, group: "staff" }))).fault,
          undefined,
        );
        assert.equal((await store.list("acls", { size: 10 })).entities.length, 1);
      },
      { "bob.yaml": `${head("Consumer", "bob")}spec: { username: bob, acls: [{ group: staff }, { group: staff }] }\n` },
    ));

  test("refuses to add a consumer to a group for which it has an invalid entry, and adds other consumers to the group", () =>
    using(
      async (store) => {
        const [bob, eve] = await Promise.all(
          ["bob", "eve"].map((value) => store.find("consumers", { member: "username", value })),
        );
        const staff = (owner: object | null | undefined) =>
          createIn(store, "acls", entity("acls", { id: randomUUID(), consumer: owner, group: "staff" }));
        assert.equal((await staff(bob)).fault?.kind, "unique");
        assert.equal((await staff(eve)).fault, undefined);
      },
      {
        "bob.yaml": `${head("Consumer", "bob")}spec: { username: bob, acls: [{ group: staff, tags: 1 }] }\n`,
        "eve.yaml": `${head("Consumer", "eve")}spec: { username: eve }\n`,
      },
    ));

  test("changes a credential although a younger credential in another namespace has the same user name", () =>
    using(
      async (store) => {
        const ann = await store.find("basicauth_credentials", { member: "username", value: "ann" });
        assert.ok(ann);
        const tagged = { ...ann, tags: ["x"] };
        assert.equal((await replaceIn(store, "basicauth_credentials", tagged)).fault, undefined);
        assert.deepEqual((await store.find("basicauth_credentials", { id: ann.id }))?.tags, ["x"]);
      },
      {
        "a.yaml": `${head("Consumer", "ann")}spec:\n  username: ann\n  basicAuth: [{ username: ann, secretRef: { name: ann, key: p } }]\n`,
        "b.yaml": `${head("Consumer", "eve", "shop")}spec:\n  username: eve\n  basicAuth: [{ username: ann, secretRef: { name: eve, key: p } }]\n`,
        "c.yaml": ["ann", "eve"]
          .map(
            (name) =>
              `apiVersion: v1\nkind: Secret\nmetadata: { name: ${name}, namespace: ${name === "ann" ? "default" : "shop"}, labels: { sluice.dev/credential: basic-auth } }\nstringData: { p: x }\n`,
          )
          .join("---\n"),
      },
    ));

  test("refuses to rewrite an invalid file, and reports the position of the error", () =>
    using(async (store, holder) => {
      const users = serviceEntity("users");
      await createIn(store, "services", users);
      const [file = ""] = await readdir(join(holder.directory, "service"));
      const path = join("service", file);
      await holder.write(path, "kind: [");
      const { fault } = await removeFrom(store, "services", { id: users.id });
      assert.equal(fault?.kind, "invalid");
      assert.match(JSON.stringify(fault), /yaml:1:\d+: .*repair the file first/);
    }, {}));

  test("is unavailable while the folder cannot be read, and recovers", () =>
    using(async (_, { directory, open }) => {
      await rm(directory, { recursive: true });
      const store = open();
      assert.ok(store.unready().length > 0);
      const waiting = store.list("services", { size: 1 });
      await mkdir(directory);
      assert.deepEqual(await waiting, { entities: [], more: false });
      await rm(directory, { recursive: true });
      await assert.rejects(createIn(store, "services", serviceEntity("users")), StoreUnavailable);
      await mkdir(directory);
    }, {}));
});
