import assert from "node:assert/strict";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { createDirectoryClient } from "@sluice/crds";
import { waitFor } from "../../../../tools/process/index.ts";
import { silentLog, startAdminRig } from "../testing.ts";

test("an idle connection counts as waiting, not as writing", async () => {
  const rig = await startAdminRig();
  after(() => rig.close());
  const idle = connect(rig.admin.address.port, "127.0.0.1");
  after(() => idle.destroy());
  await once(idle, "connect");
  const { body } = await rig.ask("GET", "/status");
  const { server } = body as { server: Record<string, number> };
  assert.equal(server.connections_active, 2);
  assert.equal(server.connections_writing, 1);
  assert.equal(server.connections_waiting, 1);
});

test("the folder of the resources is reported as unreachable, with the reason, while it is moved away", async () => {
  const rig = await startAdminRig();
  after(() => rig.close());
  const status = async () => (await rig.ask("GET", "/status")).body as StatusBody;
  const write = (name: string) => rig.ask("POST", "/services", { form: `name=${name}&host=a` });
  assert.equal((await write("a")).status, 201);
  assert.deepEqual((await status()).database, { reachable: true });
  const away = `${rig.directory}-away`;
  renameSync(rig.directory, away);
  try {
    await waitFor(async () => !(await status()).database.reachable, {
      what: "the status to report that the folder is unreachable",
    });
    assert.match(
      (await status()).sluice.unread.join(),
      /resources cannot be read at the moment: .*no such file or directory/,
    );
    const probed = async (path: string, host: string) => {
      const { status, body } = await rig.ask("GET", path, { headers: [["Host", host]] });
      return `${status} ${(body as { message: string }).message}`;
    };
    for (const path of ["/healthz", "/livez"]) assert.equal(await probed(path, "localhost"), "200 live");
    assert.match(await probed("/readyz", "localhost"), /^503 entities cannot be read at present: .*no such file/);
    assert.equal(await probed("/readyz", "evil.example"), "503 entities cannot be read at present");
    const { status: refused, body } = await write("b");
    assert.equal(refused, 500);
    assert.match((body as { message: string }).message, /the resources cannot be read or written: ENOENT: /);
    assert.equal((await rig.ask("GET", "/services/a")).status, 200);
  } finally {
    renameSync(away, rig.directory);
  }
  await waitFor(async () => (await status()).database.reachable, {
    what: "the status to report that the folder is back",
  });
  assert.deepEqual((await status()).sluice.unread, []);
  assert.equal((await rig.ask("GET", "/readyz")).status, 200);
  assert.equal((await write("b")).status, 201);
});

test("GET /problems and GET /origins return the conditions of custom resources", async (context) => {
  const rig = await startAdminRig();
  context.after(() => rig.close());
  const { body: created } = await rig.ask("POST", "/services", { form: "name=a&host=a" });
  const { id } = created as { id: string };
  const { body: origin } = await rig.ask("GET", `/origins/services/${id}`);
  const { resource } = origin as { resource: { namespace: string; name: string } };
  assert.partialDeepStrictEqual(origin, { in: "resource", resource: { kind: "Service", namespace: "default" } });
  const client = createDirectoryClient({ directory: rig.directory, log: silentLog });
  context.after(() => client.close());
  const condition = { reason: "Invalid", message: "spec.host: too long" };
  const conditions = [
    { type: "Accepted", status: "False", ...condition },
    { type: "ResolvedRefs", status: "True", reason: "ResolvedRefs", message: "" },
  ] as const;
  await client.setConditions({ ...resource, kind: "Service" }, conditions, { manager: "operator" });
  const problems = async () => ((await rig.ask("GET", "/problems")).body as { data: readonly object[] }).data;
  await waitFor(async () => (await problems()).length > 0, { what: "the condition to be seen" });
  const entity = { collection: "services", id };
  const place = `${join(rig.directory, "service", `${resource.name}.yaml`)}:1:1`;
  const remedy = `Correct the resource, in ${place}.`;
  const shownCondition = { condition: "Accepted", ...condition, suggested: [] };
  assert.deepEqual(await problems(), [{ resource, entity, place, ...shownCondition, remedy }]);
  const { body: shown } = await rig.ask("GET", `/origins/services/${id}`);
  assert.deepEqual((shown as { conditions: object }).conditions, conditions);
});

test("GET /resources returns a custom resource that has no valid entity, without its secrets", async (context) => {
  const rig = await startAdminRig();
  context.after(() => rig.close());
  const write = (name: string, spec: string) =>
    writeFileSync(
      join(rig.directory, `${name}.yaml`),
      `apiVersion: sluice.dev/v1alpha1\nkind: Plugin\nmetadata: {name: ${name}, namespace: shop}\nspec: ${spec}\n`,
    );
  write(
    "limit",
    "{plugin: rate-limiting, config: {minute: many, policy: redis, redis: {host: r, password: secret-1}}}",
  );
  write("unknown", "{plugin: nonsense, config: {token: secret-2}}");
  const specOf = async (name: string) => (await rig.ask("GET", `/resources/Plugin/shop/${name}`)).body as object;
  await waitFor(async () => "spec" in (await specOf("unknown")) && "spec" in (await specOf("limit")), {
    what: "the resources to be seen",
  });
  const redis = { host: "r", password: "[redacted]" };
  assert.deepEqual(await specOf("limit"), {
    resource: { kind: "Plugin", namespace: "shop", name: "limit" },
    place: `${join(rig.directory, "limit.yaml")}:1:1`,
    spec: { plugin: "rate-limiting", config: { minute: "many", policy: "redis", redis } },
    conditions: [],
  });
  assert.partialDeepStrictEqual(await specOf("unknown"), { spec: { plugin: "nonsense", config: "[redacted]" } });
  for (const path of ["Plugin/shop/none", "Secret/shop/limit", "constructor/shop/limit"])
    assert.equal((await rig.ask("GET", `/resources/${path}`)).status, 404);
});

const plain = ["database", "memory", "server"];
const recognised = ["edition", "tagline", "version"];

test("GET / returns settings, addresses and the process only under the listener's own host name", async () => {
  const rig = await startAdminRig();
  after(() => rig.close());
  const bodyFor = async (host: string) => (await rig.ask("GET", "/", { headers: [["Host", host]] })).body as object;
  assert.deepEqual(Object.keys(await bodyFor("evil.example")).sort(), recognised);
  assert.partialDeepStrictEqual(await bodyFor("localhost:8001"), { configuration: { role: "traditional" } });
});

test("GET /status returns nodes, addresses and problems only under the listener's own host name", async () => {
  const rig = await startAdminRig();
  after(() => rig.close());
  const members = async (host: string) => {
    const { status, body } = await rig.ask("GET", "/status", { headers: [["Host", host]] });
    assert.equal(status, 200);
    return Object.keys(body as StatusBody).sort();
  };
  assert.deepEqual(await members("evil.example"), plain);
  assert.deepEqual(await members("localhost:8001"), [...plain, "sluice"]);
});

test("GET /status returns nodes, addresses and problems only to authenticated callers if a token is configured", async () => {
  const token = "0123456789abcdef0123456789abcdef";
  const rig = await startAdminRig({ SLUICE_ADMIN_TOKEN: token });
  after(() => rig.close());
  const members = async (headers: readonly (readonly [string, string])[]) => {
    const { status, body } = await rig.ask("GET", "/status", { headers });
    assert.equal(status, 200);
    return Object.keys(body as StatusBody).sort();
  };
  assert.deepEqual(await members([]), plain);
  assert.deepEqual(await members([["Kong-Admin-Token", "wrong"]]), plain);
  assert.deepEqual(
    await members([
      ["Kong-Admin-Token", token],
      ["Host", "admin.example"],
    ]),
    [...plain, "sluice"],
  );
});

interface StatusBody {
  readonly database: { readonly reachable: boolean };
  readonly sluice: { readonly unread: readonly string[] };
}
