import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../../../../tools/process/index.ts";
import { Conflict, type Kind, type Resource, type ResourceClient, ResourceRejected } from "../resource.ts";
import { createDirectoryClient } from "./client.ts";

interface Bench {
  readonly directory: string;
  readonly client: ResourceClient;
  /** Messages of the log. */
  readonly log: string[];
  write(path: string, text: string): void;
  read(path: string): string;
  another(): ResourceClient;
}

async function bench(run: (bench: Bench) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-client-"));
  const log: string[] = [];
  const tell = (_: object, message: string) => log.push(message);
  const clients: ResourceClient[] = [];
  const another = () => {
    const client = createDirectoryClient({ directory, log: { info: tell, warn: tell, error: tell } });
    clients.push(client);
    return client;
  };
  try {
    await run({
      directory,
      log,
      client: another(),
      another,
      write(path, text) {
        mkdirSync(dirname(join(directory, path)), { recursive: true });
        writeFileSync(join(directory, path), text);
      },
      read: (path) => readFileSync(join(directory, path), "utf8"),
    });
  } finally {
    for (const client of clients) await client.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

const service = (name: string, more = ""): string =>
  `apiVersion: sluice.dev/v1alpha1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  url: http://${name}.example\n${more}`;
const asked = (name: string, spec: Record<string, unknown>, namespace = "default"): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Service",
  metadata: { name, namespace },
  spec,
});
const ref = (name: string, kind: Kind = "Service") => ({ kind, namespace: "default", name });
const manager = "sluice-admin";
const names = async (client: ResourceClient) =>
  (await client.list("Service")).map(({ metadata }) => metadata.name).join(",");

/** Watches the Services. Returns their current state by name, and the calls of the observer so far. */
async function following(client: ResourceClient) {
  const held = new Map<string, Resource>();
  const reported: string[] = [];
  const stop = new AbortController();
  client.watch(
    "Service",
    {
      replaced(resources) {
        held.clear();
        for (const one of resources) held.set(one.metadata.name, one);
        reported.push("replaced");
      },
      changed: (one) => {
        held.set(one.metadata.name, one);
        reported.push(`changed ${one.metadata.name}`);
      },
      removed: (one) => {
        held.delete(one.metadata.name);
        reported.push(`removed ${one.metadata.name}`);
      },
      lost: (error) => reported.push(`lost ${error.message}`),
    },
    { signal: stop.signal },
  );
  const until = (holds: () => boolean, what: string) => waitFor(holds, { what: `${what} (reported: ${reported})` });
  await until(() => reported.length > 0, "the first answer");
  return { held, reported, until, stop };
}

test("the client reads every YAML and JSON file below the directory except hidden files and files in hidden folders", () =>
  bench(async ({ client, write }) => {
    write("a.yaml", `${service("a")}---\n${service("b")}`);
    write("deep/er/c.yml", service("c"));
    write("d.json", JSON.stringify(asked("d", {})));
    write(".hidden.yaml", service("hidden"));
    write(".git/e.yaml", service("e"));
    write("notes.txt", service("f"));
    assert.equal(await names(client), "a,b,d,c");
  }));

test("the client reports edits by hand: changed, added, moved and removed files", () =>
  bench(async ({ client, write, directory }) => {
    write("a.yaml", service("a"));
    const { held, reported, until } = await following(client);
    write("a.yaml", service("a", "  retries: 2\n"));
    await until(() => held.get("a")?.spec?.retries === 2, "the edit");
    write("new/b.yaml", service("b"));
    await until(() => held.has("b"), "the new file in a new folder");
    write("new/b.yaml", service("b", "  retries: 2\n"));
    await until(() => held.get("b")?.spec?.retries === 2, "the edit in the new folder");
    rmSync(join(directory, "a.yaml"));
    await until(() => !held.has("a"), "the removal");
    const { uid } = held.get("b")?.metadata ?? {};
    renameSync(join(directory, "new/b.yaml"), join(directory, "moved.yaml"));
    assert.equal((await client.get(ref("b")))?.metadata.uid, uid);
    assert.ok(!reported.includes("removed b"));
  }));

test("the client keeps a file's last content while the file does not parse, logs the position of the error, and continues once the file is repaired", () =>
  bench(async ({ client, write, log }) => {
    write("a.yaml", `${service("a")}---\n${service("b")}`);
    write("c.yaml", service("c"));
    const { held, reported, until } = await following(client);
    const before = await client.get(ref("a"));
    write("a.yaml", `${service("a")}---\n${service("b", '  path: "open\n')}`);
    await until(() => log.some((line) => /^a\.yaml:14:9: this " is not closed/.test(line)), "the error to be logged");
    write("c.yaml", service("c", "  retries: 1\n"));
    await until(() => held.get("c")?.spec?.retries === 1, "the valid file");
    assert.deepEqual(await client.get(ref("a")), before);
    const refused = client.apply("Service", asked("a", { url: "http://x" }), { manager });
    await assert.rejects(
      refused,
      (error) => error instanceof ResourceRejected && /^a\.yaml:14:9: .*repair/.test(error.message),
    );
    await assert.rejects(client.remove(ref("b")), ResourceRejected);
    write("a.yaml", service("a"));
    await until(() => !held.has("b"), "the repair");
    assert.ok(log.some((line) => line.startsWith("solved: a.yaml:14:9")));
    assert.deepEqual(
      reported.filter((one) => one !== "changed a"),
      ["replaced", "changed c", "removed b"],
    );
  }));

test("the client keeps the previous resources of a file while one of its documents is not a valid resource", () =>
  bench(async ({ client, write, log }) => {
    const text = service("a", "  retries: 1\n");
    for (const [at, half] of [
      ["cut.yaml", text.slice(0, text.indexOf("  name"))],
      ["slip.yaml", text.replace("metadata:", "metadata:\n  labels: {n: 1}")],
      ["kind.yaml", text.replace("Service", "Servic")],
      ["text.yaml", "apiVersion"],
      ["two.yaml", `${service("z")}---\n${text.slice(0, text.indexOf("  name"))}`],
    ] as const) {
      const named = (content: string) => content.replaceAll("name: a", `name: ${at.slice(0, -5)}`);
      write(at, named(text));
      const before = await waitFor(() => client.get(ref(at.slice(0, -5))), { what: at });
      write(at, named(half));
      const isReported = async () => {
        assert.deepEqual(await client.get(ref(at.slice(0, -5))), before, at);
        return log.some((line) => line.startsWith(`${at}:`));
      };
      await waitFor(isReported, { what: `${at} to be reported` });
      await assert.rejects(client.remove(ref(at.slice(0, -5))), ResourceRejected);
      write(at, named(text).replace("retries: 1", "retries: 2"));
      const isMended = async () => (await client.get(ref(at.slice(0, -5))))?.spec?.retries === 2;
      await waitFor(isMended, { what: `${at} to be repaired` });
    }
    write("new.yaml", `${service("new")}---\nkind: Odd\n`);
    await waitFor(() => client.get(ref("new")), { what: "the valid resource of the new file" });
  }));

test("of two definitions of a resource, the client uses the definition in the file whose path sorts first, and logs the other definition once", () =>
  bench(async ({ client, write, log }) => {
    write("b.yaml", service("a", "  retries: 2\n"));
    write("a.yaml", `${service("z")}---\n${service("a", "  retries: 1\n")}`);
    assert.equal((await client.get(ref("a")))?.spec?.retries, 1);
    await client.list("Service");
    assert.deepEqual(log, [
      "b.yaml:1:1: Service/default/a is also defined in a.yaml:8; that definition is used, and this one is ignored",
    ]);
  }));

test("the client logs each unknown kind once and skips its resources", () =>
  bench(async ({ client, write, log }) => {
    write("a.yaml", `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n---\n${service("a")}`);
    for (let count = 0; count < 3; count++) assert.equal(await names(client), "a");
    assert.equal(log.length, 1);
    assert.match(log[0] ?? "", /^a\.yaml:1:1: unknown kind Deployment of apiVersion apps\/v1: skipped/);
  }));

test("the client writes new resources to <kind>/<name>.yaml and changes existing ones in their files", () =>
  bench(async ({ client, write, read, directory }) => {
    write("all.yaml", `# mine\n${service("a", "  retries: 1 # few\n")}---\n# theirs\n${service("b")}`);
    await client.apply("Service", asked("a", { url: "http://a.example", retries: 2 }), { manager });
    assert.equal(read("all.yaml"), `# mine\n${service("a", "  retries: 2 # few\n")}---\n# theirs\n${service("b")}`);
    await client.apply("Service", asked("c", { url: "http://c.example" }), { manager });
    assert.equal(read("service/c.yaml"), service("c"));
    await client.apply("Service", asked("c", { url: "http://c.example" }, "other"), { manager });
    assert.match(read("service/other_c.yaml"), /namespace: other/);
    await client.remove(ref("a"));
    assert.equal(read("all.yaml"), `---\n# theirs\n${service("b")}`);
    await client.remove(ref("b"));
    assert.deepEqual(readdirSync(directory).sort(), [".status", "service"]);
  }));

test("the client writes a new resource to a file with a different name when the usual file contains other resources", () =>
  bench(async ({ client, write, read }) => {
    write("service/a.yaml", service("b"));
    await client.apply("Service", asked("a", { url: "http://a.example" }), { manager });
    assert.equal(read("service/a.yaml"), service("b"));
    assert.equal(read("service/a_2.yaml"), service("a"));
  }));

test("the client hides Secrets from other users of the machine", () =>
  bench(async ({ client, directory }) => {
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "k", namespace: "default" },
      data: { key: "YQ==" },
    };
    await client.apply("Secret", secret, { manager });
    assert.equal(statSync(join(directory, "secret/k.yaml")).mode & 0o077, 0);
  }));

test("an apply keeps the user's labels, and removes Sluice's labels that it omits", () =>
  bench(async ({ client, write }) => {
    write("a.yaml", service("a").replace("name: a\n", "name: a\n  labels: {team: x, sluice.dev/mark: old}\n"));
    await client.apply("Service", asked("a", {}), { manager });
    assert.deepEqual((await client.get(ref("a")))?.metadata.labels, { team: "x" });
  }));

test("the client agrees with another client on identity, generation, version and age, before and after writes", () =>
  bench(async ({ client, another, write }) => {
    write("all.yaml", `${service("a")}---\n${service("b")}`);
    const other = another();
    const [watched, alsoWatched] = [await following(client), await following(other)];
    const agree = async () => {
      const [one, two] = await Promise.all([client.list("Service"), other.list("Service")]);
      assert.deepEqual(one, two);
      return new Map(one.map((resource) => [resource.metadata.name, resource.metadata]));
    };
    const before = await agree();
    const condition = { type: "Accepted", status: "True", reason: "Accepted", message: "Good." } as const;
    for (const name of ["a", "b"]) await client.setConditions(ref(name), [condition], { manager: "op" });
    await agree();
    await other.apply("Service", asked("a", { retries: 1 }), { manager });
    const after = await agree();
    assert.ok((after.get("a")?.generation ?? 0) > (before.get("a")?.generation ?? 0));
    assert.equal(
      after.get("b")?.generation,
      before.get("b")?.generation,
      "only changed resources get a new generation",
    );
    assert.equal(after.get("a")?.creationTimestamp, before.get("a")?.creationTimestamp);
    for (const { held, until } of [watched, alsoWatched])
      await until(() => held.get("a")?.spec?.retries === 1, "the other client's write");
  }));

test("no write is lost when two clients write into one file at the same time", () =>
  bench(async ({ client, another, write }) => {
    const all = Array.from({ length: 8 }, (_, index) => `s${index}`);
    write("all.yaml", all.map((name) => service(name)).join("---\n"));
    const clients = [client, another()];
    await Promise.all(
      all.map((name, index) =>
        clients[index % 2]?.apply("Service", asked(name, { url: "http://x", retries: index }), { manager }),
      ),
    );
    const retries = (await client.list("Service")).map(({ spec }) => spec?.retries);
    assert.deepEqual(retries, [0, 1, 2, 3, 4, 5, 6, 7]);
  }));

test("the client refuses an update if the file was edited after the resource was read", () =>
  bench(async ({ client, write }) => {
    write("a.yaml", service("a"));
    const { uid = "", resourceVersion = "" } = (await client.get(ref("a")))?.metadata ?? {};
    write("a.yaml", service("a", "  retries: 9\n"));
    const update = client.apply("Service", asked("a", {}), { manager, expect: { uid, resourceVersion } });
    await assert.rejects(update, (error) => error instanceof Conflict && error.reason === "changed");
    assert.equal((await client.get(ref("a")))?.spec?.retries, 9);
  }));

test("the client reports the loss of the directory, and all resources when the directory is back", () =>
  bench(async ({ client, write, directory }) => {
    write("a.yaml", service("a"));
    const { held, reported, until } = await following(client);
    rmSync(directory, { recursive: true });
    await until(() => reported.some((one) => /^lost ENOENT/.test(one)), "the loss");
    await assert.rejects(client.list("Service"), /ENOENT/);
    await assert.rejects(client.apply("Service", asked("b", {}), { manager }), /ENOENT/);
    write("b.yaml", service("b"));
    await until(() => held.has("b") && !held.has("a"), "the directory's return");
    assert.deepEqual(
      reported.filter((one) => one === "replaced"),
      ["replaced", "replaced"],
    );
  }));

test("setConditions replaces a status record that cannot be parsed", () =>
  bench(async ({ client, write }) => {
    write("a.yaml", service("a"));
    write(".status/service/default_a.json", "{ not json");
    assert.equal((await client.get(ref("a")))?.status, undefined);
    const condition = { type: "Accepted", status: "True", reason: "Accepted", message: "Good." } as const;
    await client.setConditions(ref("a"), [condition], { manager: "op" });
    assert.equal((await client.get(ref("a")))?.status?.conditions?.[0]?.message, "Good.");
  }));

test("the client logs an event, and logs equal events once", () =>
  bench(async ({ client, log }) => {
    const event = { type: "Warning", reason: "Invalid", message: "Wrong.", reporter: "sluice.dev/operator" } as const;
    for (let count = 0; count < 3; count++) await client.recordEvent(ref("a"), event);
    assert.deepEqual(log, ["Wrong."]);
  }));

test("a caller that lists without a pause does not delay a watch", () =>
  bench(async ({ client, write }) => {
    write("web.yaml", service("web"));
    const seen: string[] = [];
    const abort = new AbortController();
    client.watch(
      "Service",
      {
        replaced: () => void seen.push("all"),
        changed: ({ metadata }) => void seen.push(metadata.name),
        removed() {},
      },
      { signal: abort.signal },
    );
    await waitFor(() => seen.includes("all"), { what: "the first list" });
    let over = false;
    const lister = (async () => {
      while (!over) await client.list("Service");
    })();
    write("shop.yaml", service("shop"));
    try {
      await waitFor(() => seen.includes("shop"), { what: "the new file to be reported" });
    } finally {
      over = true;
      await lister;
      abort.abort();
    }
  }));

test("when a list returns, a watch of the same client has already delivered the same resources", () =>
  bench(async ({ client, another }) => {
    const { held } = await following(client);
    await another().apply("Service", asked("a", { url: "http://a.example" }), { manager });
    const [listed] = await client.list("Service");
    assert.equal(held.get("a"), listed);
  }));

test("a list fails if the directory is moved away while its files are read, and a later list returns all resources again", () =>
  bench(async ({ client, directory, write }) => {
    for (let count = 0; count < 200; count++) write(`s${count}.yaml`, service(`s${count}`));
    assert.equal((await client.list("Service")).length, 200);
    const away = `${directory}-away`;
    const listing = client.list("Service");
    // The directory is listed in another thread, and its files are read in batches after that.
    await new Promise((resolve) => setImmediate(resolve));
    renameSync(directory, away);
    try {
      await assert.rejects(listing, /ENOENT/);
    } finally {
      renameSync(away, directory);
    }
    assert.equal((await client.list("Service")).length, 200);
  }));
