/** Who may use the admin API's listener over the network. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { type RequestOptions, request } from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readSettings } from "@sluice/model";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { makeAuthority, type TestAuthority } from "../../../../tools/programs/certificates.ts";
import { firstKeyPair, secondKeyPair } from "../../../../tools/programs/pairs.ts";
import { renegotiationError } from "../../../../tools/programs/renegotiation.ts";
import { adminSettings } from "../../settings/commands/admin.ts";
import { silentLog, startAdminRig } from "../testing.ts";
import { type FileRig, startFileRig } from "../testing-file.ts";
import { openAccess } from "./open-access.ts";

const empty = '_format_version: "3.0"\n';
const token = "0123456789abcdef";

const settingsOf = (env: Readonly<Record<string, string>>) => {
  const { value, violations } = readSettings(adminSettings, { SLUICE_STORE: "file", ...env });
  return value ?? assert.fail(JSON.stringify(violations));
};

describe("access settings", () => {
  const elsewhere = { SLUICE_ADMIN_LISTEN: "0.0.0.0:8001" };
  const refused: readonly (readonly [string, Record<string, string>, RegExp])[] = [
    [
      "a public address without authentication",
      elsewhere,
      /set one of SLUICE_ADMIN_TOKEN, .*or SLUICE_ADMIN_ACCESS=anyone; or listen on/,
    ],
    [
      "a public IPv6 address, and quote it as it was set",
      { SLUICE_ADMIN_LISTEN: "[::]:8001" },
      /SLUICE_ADMIN_LISTEN is \[::\]:8001, which/,
    ],
    ["a certificate without its key", { SLUICE_ADMIN_TLS_CERT: "a" }, /belong together/],
    [
      "an authority without a certificate",
      { SLUICE_ADMIN_TLS_CA: "a" },
      /SLUICE_ADMIN_TLS_CA needs SLUICE_ADMIN_TLS_CERT/,
    ],
    [
      "a token that is too short for a public address",
      { ...elsewhere, SLUICE_ADMIN_TOKEN: "fifteen letters" },
      /shorter than 16/,
    ],
    [
      "a token that the listener would never check",
      { SLUICE_ADMIN_ACCESS: "anyone", SLUICE_ADMIN_TOKEN: token },
      /contradicts/,
    ],
    [
      "Kubernetes tokens without SLUICE_STORE=cluster",
      { SLUICE_ADMIN_KUBERNETES: "true" },
      /needs SLUICE_STORE=cluster/,
    ],
  ];
  for (const origin of ["*", "https://a.example/", "a.example", "null"]) {
    test(`refuse the origin ${origin}`, () =>
      assert.rejects(openAccess(settingsOf({ SLUICE_ADMIN_ORIGINS: origin }), silentLog), /is not an origin/));
  }
  for (const [what, env, message] of refused) {
    test(`refuse ${what}`, () =>
      assert.rejects(openAccess(settingsOf(env), silentLog), { name: "SettingsError", message }));
  }

  test("refuse a certificate with the key of another certificate, and name both variables", async () => {
    const folder = temporaryFolder("access-pair");
    try {
      const [cert, key] = [join(folder.path, "a.crt"), join(folder.path, "b.key")];
      writeFileSync(cert, firstKeyPair.cert);
      writeFileSync(key, secondKeyPair.key);
      const env = { SLUICE_ADMIN_TLS_CERT: cert, SLUICE_ADMIN_TLS_KEY: key };
      const message = /^SLUICE_ADMIN_TLS_CERT, SLUICE_ADMIN_TLS_KEY cannot be used together: .*key values mismatch/;
      await assert.rejects(openAccess(settingsOf(env), silentLog), { name: "SettingsError", message });
    } finally {
      folder.remove();
    }
  });

  test("accept a public address with a token, or with SLUICE_ADMIN_ACCESS=anyone", async () => {
    assert.equal(
      (await openAccess(settingsOf({ ...elsewhere, SLUICE_ADMIN_TOKEN: token }), silentLog)).requiresToken,
      true,
    );
    const open = await openAccess(settingsOf({ ...elsewhere, SLUICE_ADMIN_ACCESS: "anyone" }), silentLog);
    assert.equal(open.requiresToken, false);
    await open.authorize({ method: "POST", url: "/services", headers: {}, certificate: null });
  });
});

test("a token gives access to all paths, and without the token only the status is shown", async () => {
  const rig = await startAdminRig({ SLUICE_ADMIN_TOKEN: token });
  try {
    const form = "name=a&host=a";
    const refused = await rig.ask("POST", "/services", { form });
    assert.equal(refused.status, 401);
    assert.deepEqual(refused.body, { message: "Unauthorized" });
    assert.equal(refused.headers["www-authenticate"], 'Bearer realm="sluice-admin"');
    assert.equal((await rig.ask("GET", "/nothing")).status, 401);
    assert.equal((await rig.ask("GET", "/%73ervices")).status, 401);
    assert.equal((await rig.ask("GET", "/status")).status, 200);
    const headers = [
      ["Kong-Admin-Token", token],
      ["Host", "admin.example"],
    ] as const;
    assert.equal((await rig.ask("POST", "/services", { form, headers })).status, 201);
    const bearer = [["Authorization", `Bearer ${token}`]] as const;
    assert.equal((await rig.ask("GET", "/services/a", { headers: bearer })).status, 200);
    assert.equal((await rig.ask("GET", "/metrics")).status, 401);
  } finally {
    await rig.close();
  }
});

describe("pages of other origins", () => {
  const origin = "https://console.example";
  let rig: FileRig;
  before(async () => {
    rig = await startFileRig(empty, { SLUICE_ADMIN_ORIGINS: origin, SLUICE_FILE_WRITABLE: "true" });
  });
  after(() => rig.close());
  const from = (name: string) => ({ headers: [["Origin", name]] as const });

  test("may use the listener when a setting names their origin", async () => {
    const { status, headers } = await rig.ask("POST", "/services", { form: "name=a&host=a", ...from(origin) });
    assert.equal(status, 201);
    assert.equal(headers["access-control-allow-origin"], origin);
    assert.equal(headers["access-control-allow-credentials"], "true");
    assert.equal(headers.vary, "Origin");
    const asked = await rig.ask("OPTIONS", "/services", from(origin));
    assert.equal(asked.status, 204);
    assert.equal(asked.headers["access-control-allow-methods"], "GET, HEAD, OPTIONS, POST");
    assert.equal(asked.headers["access-control-allow-origin"], origin);
  });

  test("may not read or write when no setting names their origin", async () => {
    const { status, headers } = await rig.ask("GET", "/services", from("https://evil.example"));
    assert.equal(status, 200);
    assert.equal(headers["access-control-allow-origin"], undefined);
    assert.equal(headers.vary, "Origin");
    assert.equal((await rig.ask("POST", "/services", { form: "host=a", ...from("https://evil.example") })).status, 403);
  });
});

describe("a listener with certificates", () => {
  const folder = temporaryFolder("admin-tls");
  let ours: TestAuthority;
  let rig: FileRig;
  before(async () => {
    ours = await makeAuthority();
    const put = (name: string, text: string) => {
      writeFileSync(join(folder.path, name), text, { mode: 0o600 });
      return join(folder.path, name);
    };
    const { certificate, key } = await ours.issue({ name: "admin", sans: ["127.0.0.1"], usage: "server" });
    rig = await startFileRig(empty, {
      SLUICE_ADMIN_TLS_CERT: put("admin.crt", certificate),
      SLUICE_ADMIN_TLS_KEY: put("admin.key", key),
      SLUICE_ADMIN_TLS_CA: put("ca.crt", ours.certificate),
      SLUICE_ADMIN_TOKEN: token,
    });
  });
  after(async () => {
    await rig.close();
    folder.remove();
  });

  const ask = (options: RequestOptions = {}): Promise<number> =>
    new Promise((resolve, reject) => {
      const { port } = rig.admin.address;
      const asking = { host: "127.0.0.1", port, path: "/services", agent: false, ca: ours.certificate, ...options };
      request(asking, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      })
        .on("error", reject)
        .end();
    });

  test("accepts client certificates of its authority, and no other certificates", async () => {
    const mine = await ours.issue({ name: "deck", usage: "client" });
    assert.equal(await ask({ cert: mine.certificate, key: mine.key }), 200);
    const theirs = await (await makeAuthority()).issue({ name: "deck", usage: "client" });
    assert.equal(await ask({ cert: theirs.certificate, key: theirs.key }), 401);
    assert.equal(await ask(), 401);
  });

  test("refuses an expired certificate", async () => {
    const old = await ours.issue({ name: "deck", usage: "client", notAfter: new Date(Date.now() - 1000) });
    assert.equal(await ask({ cert: old.certificate, key: old.key }), 401);
  });

  test("refuses to negotiate TLS again in a connection", async () => {
    assert.ok(await renegotiationError({ host: "127.0.0.1", port: rig.admin.address.port }));
  });

  test("accepts a token over TLS as well", async () => {
    assert.equal(await ask({ headers: { "Kong-Admin-Token": token } }), 200);
  });
});
