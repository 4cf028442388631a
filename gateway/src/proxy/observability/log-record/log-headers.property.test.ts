/** The JSON text of headers, compared with the object that it describes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { IncomingRequest } from "../../exchange/request.ts";
import { JsonBytes } from "./json-bytes.ts";
import { writeRequestHeaders, writeResponseHeaders } from "./log-headers.ts";

const output = new JsonBytes();

function requestHeadersText(request: IncomingRequest, keyNames: ReadonlySet<string>): string {
  output.clear();
  writeRequestHeaders(output, request, keyNames);
  return output.toString();
}

function responseHeadersText(head: string | readonly string[], keyNames: ReadonlySet<string>): string {
  output.clear();
  writeResponseHeaders(output, head, keyNames);
  return output.toString();
}

const names = fc.constantFrom("X-A", "x-a", "X-B", "Set-Cookie", "Cookie", "Location", "1", "__proto__", "constructor");
/** Without `%`: parameters with malformed escapes are redacted. */
const values = fc
  .string({ unit: fc.constantFrom(...'aé"\\ =;?&\t') })
  .map((text) => Buffer.from(text.trim(), "utf8").toString("latin1"));
const headers = fc.array(fc.tuple(names, values), { maxLength: 8 });
const withSecrets = fc.array(
  fc.oneof(
    fc.tuple(fc.constantFrom("X-A", "Date"), values),
    fc.tuple(fc.constantFrom("Set-Cookie", "set-cookie"), fc.constantFrom("token=secret; Path=/", "a=1; token=secret")),
    fc.tuple(fc.constant("Location"), fc.constantFrom("/end?token=secret", "https://a.test/?a=1&token=secret#top")),
  ),
  { maxLength: 6 },
);

const headText = (pairs: Pairs): string => `HTTP/1.1 200 OK\r\n${linesOf(pairs)}\r\n`;

const linesOf = (pairs: Pairs): string => pairs.map(([name, value]) => `${name}: ${value}\r\n`).join("");

type Pairs = readonly (readonly [name: string, value: string])[];

/** The object that JSON readers should see. */
function grouped(pairs: Pairs, textOf: (lower: string, value: string) => string): Record<string, unknown> {
  const members: Record<string, string[]> = Object.create(null);
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase();
    members[lower] = [...(members[lower] ?? []), textOf(lower, Buffer.from(value, "latin1").toString("utf8"))];
  }
  return Object.fromEntries(Object.entries(members).map(([name, list]) => [name, list.length === 1 ? list[0] : list]));
}

/** Ignores the order of members. */
const sorted = (members: object) => Object.entries(members).toSorted(([one], [other]) => (one < other ? -1 : 1));

test("headers of a response are recorded as they were sent, from text and from a list", () => {
  const noKeys = new Set<string>();
  fc.assert(
    fc.property(headers, (pairs) => {
      const expected = sorted(grouped(pairs, (_, value) => value));
      for (const head of [headText(pairs), pairs.flat()])
        assert.deepEqual(sorted(JSON.parse(responseHeadersText(head, noKeys))), expected);
    }),
  );
});

test("no header of a response shows a key in a cookie or a location", () => {
  const keyNames = new Set(["token"]);
  fc.assert(
    fc.property(withSecrets, (pairs) => {
      for (const head of [headText(pairs), pairs.flat()])
        assert.doesNotMatch(responseHeadersText(head, keyNames), /secret/);
    }),
  );
});

test("headers of a request are recorded as they were sent; cookies are joined, and keys are redacted", () => {
  const keyNames = new Set(["x-b", "token"]);
  fc.assert(
    fc.property(headers, (pairs) => {
      const cookies = pairs.filter(([name]) => name === "Cookie").map(([, value]) => value);
      const others = pairs.filter(([name]) => name !== "Cookie");
      const expected = grouped(others, (lower, value) => (lower === "x-b" ? "REDACTED" : value));
      if (Object.hasOwn(expected, "x-b")) expected["x-b"] = "REDACTED";
      for (const head of [{ headerLines: linesOf(pairs) }, { headerLines: null }, {}]) {
        const request = { head, rawHeaders: pairs.flat(), headerValues: () => cookies } as unknown as IncomingRequest;
        const { cookie = null, ...members } = JSON.parse(requestHeadersText(request, keyNames));
        assert.deepEqual(sorted(members), sorted(expected));
        assert.equal(typeof cookie === "string", cookies.length > 0);
        assert.doesNotMatch(String(cookie), /(?:^|[; ])token=secret/);
      }
    }),
  );
});

test("a header line that earlier requests had too is redacted once its name becomes the name of a key", () => {
  const request = { head: { headerLines: "X-Key: secret\r\n" } } as unknown as IncomingRequest;
  const before = new Set<string>();
  for (let count = 0; count < 3; count++)
    assert.deepEqual(JSON.parse(requestHeadersText(request, before)), { "x-key": "secret" });
  assert.deepEqual(JSON.parse(requestHeadersText(request, new Set(["x-key"]))), { "x-key": "REDACTED" });
});

test("secrets of many heads with the same names are redacted, and other values are recorded", () => {
  const keyNames = new Set(["x-key", "token"]);
  for (let count = 0; count < 200; count++) {
    const secret = `secret-${count}`;
    const request: Pairs = [
      ["Authorization", secret],
      ["X-Key", secret],
      ["Cookie", `a=${count}; token=${secret}`],
      ["X-Public", `"${count}"`],
    ];
    const head = { headerLines: linesOf(request) };
    assert.deepEqual(JSON.parse(requestHeadersText({ head } as unknown as IncomingRequest, keyNames)), {
      authorization: "REDACTED",
      "x-key": "REDACTED",
      cookie: `a=${count}; token=REDACTED`,
      "x-public": `"${count}"`,
    });
    const response: Pairs = [
      ["Set-Cookie", `token=${secret}; Path=/${count}`],
      ["Location", `/${count}?token=${secret}`],
      ["X-Public", `é${count}`],
    ];
    const expected = {
      "set-cookie": `token=REDACTED; Path=/${count}`,
      location: `/${count}?token=REDACTED`,
      "x-public": `é${count}`,
    };
    const latin1 = response.map(([name, value]) => [name, Buffer.from(value).toString("latin1")] as const);
    assert.deepEqual(JSON.parse(responseHeadersText(headText(latin1), keyNames)), expected);
  }
});

test("heads of many kinds in turn are recorded with their own names", () => {
  const noKeys = new Set<string>();
  for (let count = 0; count < 2000; count++) {
    const kind = (count * 7919) % 23;
    const names = Array.from({ length: 1 + (kind % 5) }, (_, at) => `X-${kind % 11}-${at}`);
    const pairs: Pairs = names.map((name, at) => [name, `${at === 0 ? count : kind}`]);
    const expected = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]));
    assert.deepEqual(JSON.parse(responseHeadersText(headText(pairs), noKeys)), expected);
  }
});

const sequences: readonly (readonly [what: string, textOf: (count: number) => string])[] = [
  ["stays the same", () => "a"],
  ["changes with every head", (count) => `${count}`],
  ["changes sometimes", (count) => `${count >> 3}`],
  ["alternates", (count) => `${count % 2}`],
  ["is a prefix of the one before", (count) => "x".repeat(1 + (count % 3))],
  ["is long", (count) => "x".repeat(250 + (count % 20))],
];

for (const [what, textOf] of sequences) {
  test(`each of many heads is recorded with its own values if a value ${what}`, () => {
    const noKeys = new Set<string>();
    for (let count = 0; count < 200; count++) {
      const pairs: Pairs = [["A", "1"], ["B", textOf(count)], ...(count % 5 === 0 ? [] : [["C", "3"] as const])];
      const expected = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]));
      assert.deepEqual(JSON.parse(responseHeadersText(headText(pairs), noKeys)), expected);
      const request = { head: { headerLines: linesOf(pairs) } } as unknown as IncomingRequest;
      assert.deepEqual(JSON.parse(requestHeadersText(request, noKeys)), expected);
    }
  });
}
