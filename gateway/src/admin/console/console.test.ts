/** The console's files as the admin listener serves them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { buildConsole, consoleFiles } from "../../../../tools/build/console.ts";
import { type Admin, startAdmin } from "../index.ts";
import { requestAt, silentLog, testingSettings } from "../testing.ts";
import { createTestingStore } from "../testing-store.ts";

const start = (env: Readonly<Record<string, string>>): Promise<Admin> =>
  startAdmin({ settings: testingSettings(env), opened: createTestingStore(), log: silentLog, version: "1" });

before(buildConsole);

describe("the console of a listener with a token", () => {
  let admin: Admin;
  before(async () => {
    admin = await start({ SLUICE_ADMIN_TOKEN: "secret" });
  });
  after(() => admin.close());
  const ask = (method: string, path: string, headers: readonly (readonly [string, string])[] = []) =>
    requestAt(admin.address.port)(method, path, { headers });

  const script = () => [...consoleFiles().keys()].find((name) => /^assets\/.*\.js$/.test(name)) ?? "";

  test("is read without the token", async () => {
    const { status, headers, body } = await ask("GET", "/console/");
    assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"]);
    assert.match(String(body), /<title>Sluice console<\/title>/);
  });

  test("redirects to the folder by a relative address, because a proxy may add a prefix", async () => {
    const { status, headers } = await ask("GET", "/console");
    assert.deepEqual([status, headers.location], [308, "console/"]);
  });

  test("has a content security policy that allows files of the listener only, and no inline script or style", async () => {
    const { headers } = await ask("GET", "/console/");
    const policy = String(headers["content-security-policy"]).split("; ");
    for (const directive of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"])
      assert.ok(policy.includes(directive), directive);
    assert.doesNotMatch(policy.join(), /unsafe|data:|\*|https?:/);
  });

  test("has no inline script or style", async () => {
    const html = String((await ask("GET", "/console/")).body);
    assert.doesNotMatch(html, /<style|style=|<script(?![^>]*src=)| on\w+=/);
  });

  test("lets browsers keep files whose names have a hash, and makes them request other files again", async () => {
    const [hashed, index] = [await ask("GET", `/console/${script()}`), await ask("GET", "/console/")];
    assert.equal(hashed.headers["content-type"], "text/javascript; charset=utf-8");
    assert.equal(hashed.headers["cache-control"], "public, max-age=31536000, immutable");
    assert.equal(index.headers["cache-control"], "no-cache");
    const again = await ask("GET", "/console/", [["If-None-Match", String(index.headers.etag)]]);
    assert.deepEqual([again.status, again.body], [304, undefined]);
  });

  for (const [coding, accepted] of [
    ["br", "gzip, deflate, br"],
    ["gzip", "gzip"],
    ["gzip", "br;q=0, gzip"],
    [undefined, "identity"],
    [undefined, ""],
  ] as const) {
    test(`is sent with the coding ${coding ?? "identity"} to a browser that accepts '${accepted}'`, async () => {
      const response = await fetch(`http://127.0.0.1:${admin.address.port}/console/`, {
        headers: { "accept-encoding": accepted },
      });
      assert.equal(response.headers.get("content-encoding"), coding ?? null);
      assert.equal(response.headers.get("vary"), "Accept-Encoding");
      assert.match(await response.text(), /Sluice console/);
    });
  }

  test("answers HEAD like GET, without the body", async () => {
    const [get, head] = [await ask("GET", "/console/"), await ask("HEAD", "/console/")];
    assert.deepEqual([head.status, head.body], [200, undefined]);
    assert.equal(head.headers["content-length"], get.headers["content-length"]);
  });

  for (const path of [
    ...["/console/nothing.js", "/console/assets/", "/console/.sources", "/console/index.html.br"],
    ...["/console/../package.json", "/console/%2e%2e/package.json", "/console/..%2f..%2fpackage.json"],
    "/console//etc/passwd",
  ]) {
    test(`answers 404 or 401 for ${path}`, async () => assert.ok([401, 404].includes((await ask("GET", path)).status)));
  }

  test("cannot be written", async () => assert.equal((await ask("POST", "/console/")).status, 401));

  for (const [extension, decompress] of [
    [".br", brotliDecompressSync],
    [".gz", gunzipSync],
  ] as const) {
    test(`has at most 200 kB of ${extension} files, each of which decompresses to the file beside it`, () => {
      const files = [...consoleFiles()].filter(([name]) => name.endsWith(extension));
      const compressed = files.map(([, path]) => readFileSync(path));
      assert.ok(compressed.reduce((sum, { length }) => sum + length, 0) <= 200_000);
      for (const [index, [, path]] of files.entries())
        assert.deepEqual(decompress(compressed[index] ?? ""), readFileSync(path.slice(0, -extension.length)), path);
    });
  }
});

describe("the setting SLUICE_CONSOLE", () => {
  const modes: readonly (readonly [mode: string, status: number, body: unknown])[] = [
    ["on", 200, { read_only: false }],
    ["read-only", 200, { read_only: true }],
    ["off", 404, { message: "Not found" }],
  ];
  for (const [mode, status, body] of modes) {
    test(`${mode}: answers ${status} to the page's request for its settings`, async () => {
      const admin = await start({ SLUICE_CONSOLE: mode });
      try {
        const reply = await requestAt(admin.address.port)("GET", "/console/settings.json");
        assert.deepEqual([reply.status, reply.body], [status, body]);
      } finally {
        await admin.close();
      }
    });
  }
});
