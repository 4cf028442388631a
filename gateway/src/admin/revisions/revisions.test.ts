import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Reply, startAdminRig } from "../testing.ts";
import { type FileRig, startFileRig } from "../testing-file.ts";
import { revisionsOf } from "./rollback.ts";

const token = "0123456789abcdef";
const headers = [["Kong-Admin-Token", token]] as const;

interface Shown {
  readonly number: number;
  readonly author: string;
}

const messageOf = ({ body }: Reply): string => String(Object(body).message);

describe("the revisions of the admin API", () => {
  let rig: FileRig;
  const ask = (method: string, path: string, json?: object) =>
    rig.ask(method, path, { headers, ...(json && { json }) });
  const listed = async (): Promise<readonly Shown[]> =>
    (Object((await ask("GET", "/revisions")).body) as { readonly data: readonly Shown[] }).data;

  before(async () => {
    rig = await startFileRig('_format_version: "3.0"\n', {
      SLUICE_FILE_WRITABLE: "true",
      SLUICE_ADMIN_TOKEN: token,
    });
    await ask("POST", "/services", { name: "a", host: "one" });
    await ask("PATCH", "/services/a", { host: "two" });
    await ask("POST", "/batch", {
      writes: [
        { method: "POST", path: "/consumers", body: { username: "ann" } },
        { method: "POST", path: "/consumers/ann/key-auth", body: { key: "secret-1" } },
      ],
    });
    await ask("PATCH", "/key-auths/secret-1", { key: "secret-2" });
  });
  after(() => rig.close());

  test("name the caller of each write", async () => {
    assert.deepEqual(
      (await listed()).map(({ number, author }) => [number, author]),
      [
        [4, "admin token"],
        [3, "admin token"],
        [2, "admin token"],
        [1, "admin token"],
        [0, "file"],
      ],
    );
  });

  test("are listed in pages", async () => {
    const { body } = await ask("GET", "/revisions?size=3");
    const { next } = body as { readonly next: string };
    const { body: rest } = await ask("GET", next);
    assert.partialDeepStrictEqual(rest, { data: [{ number: 1 }, { number: 0 }], next: null });
  });

  test("show no values of secrets", async () => {
    for (const path of ["/revisions/4", "/revisions/3", "/revisions/0/difference", "/revisions/4/difference?since=2"]) {
      const { status, body } = await ask("GET", path);
      assert.equal(status, 200);
      const text = JSON.stringify(body);
      assert.ok(text.includes("[redacted]") && !text.includes("secret-"), text);
    }
  });

  test("have differences in both directions", async () => {
    const change = async (path: string) => Object((await ask("GET", path)).body).changed?.[0]?.members;
    const [one, two] = [
      { member: "host", before: "one", after: "two" },
      { member: "host", before: "two", after: "one" },
    ];
    assert.deepEqual(await change("/revisions/2/difference?since=1"), [one]);
    assert.deepEqual(await change("/revisions/1/difference"), [one]);
    assert.deepEqual(await change("/revisions/1/difference?since=2"), [two]);
    assert.deepEqual(await change("/revisions/2/difference?since=2"), undefined);
  });

  const refused: readonly (readonly [does: string, request: string, status: number, message: RegExp])[] = [
    ["a number that no revision has", "GET /revisions/77", 404, /^there is no revision 77: GET \/revisions lists/],
    ["a string that is not a number", "GET /revisions/x", 404, /^there is no revision x/],
    ["a rollback to an unknown revision", "POST /revisions/77/rollback", 404, /^there is no revision 77/],
    ["an unknown revision to compare with", "GET /revisions/1/difference?since=77", 404, /^there is no revision 77/],
    [
      "a revision to compare with that is not a number",
      "GET /revisions/1/difference?since=-1",
      400,
      /since: expected the n/,
    ],
    ["an invalid offset", "GET /revisions?offset=e30=", 400, /is not a valid offset: bad value/],
    ["an invalid size", "GET /revisions?size=0", 400, /size must be an integer between 1 and 1000/],
    ["an unclear dry_run", "POST /revisions/1/rollback?dry_run=2", 400, /dry_run: expected true or false/],
  ];
  for (const [does, request, status, message] of refused)
    test(`refuse ${does}`, async () => {
      const [method = "", path = ""] = request.split(" ");
      const reply = await ask(method, path);
      assert.equal(reply.status, status);
      assert.match(messageOf(reply), message);
    });

  test("can be restored, if nothing was written since the plan", async () => {
    const text = rig.text();
    const plan = await ask("POST", "/revisions/2/rollback?dry_run=1");
    assert.partialDeepStrictEqual(plan.body, { dry_run: true, deleted: [{ collection: "consumers", name: "ann" }] });
    assert.equal(rig.text(), text);
    await ask("PATCH", "/services/a", { retries: 1 });
    const match = ["If-Match", String(plan.headers.etag)] as const;
    const late = await rig.ask("POST", "/revisions/2/rollback", { headers: [...headers, match] });
    assert.equal(late.status, 412);
    const done = await ask("POST", "/revisions/2/rollback");
    assert.equal(done.status, 200);
    assert.partialDeepStrictEqual(done.body, { dry_run: false, changed: [{ collection: "services", name: "a" }] });
    assert.equal((await ask("GET", "/consumers/ann")).status, 404);
    const { body: left } = await ask("GET", "/revisions/2/difference");
    assert.partialDeepStrictEqual(left, { created: [], changed: [], deleted: [] });
    const again = await ask("POST", "/revisions/4/rollback");
    assert.equal(again.status, 200);
    assert.equal((await ask("GET", "/consumers/ann/key-auth/secret-2")).status, 200);
  });
});

test("custom resources have no revisions until an operator records one", async () => {
  const rig = await startAdminRig();
  try {
    assert.partialDeepStrictEqual(await rig.ask("GET", "/revisions"), { status: 200, body: { data: [], next: null } });
    const reply = await rig.ask("POST", "/revisions/1/rollback");
    assert.equal(reply.status, 404);
    assert.match(messageOf(reply), /^there is no revision yet/);
  } finally {
    await rig.close();
  }
});

test("for a store without revisions, requests for revisions are answered with 501", () => {
  assert.throws(() => revisionsOf({}), { status: 501 });
});
