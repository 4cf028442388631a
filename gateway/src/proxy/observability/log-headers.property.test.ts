/** The JSON text of headers, compared with the object that it describes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { IncomingRequest } from "../exchange/request.ts";
import { requestHeadersText, responseHeadersText } from "./log-headers.ts";

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

const headText = (pairs: Pairs): string =>
  `HTTP/1.1 200 OK\r\n${pairs.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;

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
  fc.assert(
    fc.property(headers, (pairs) => {
      const expected = sorted(grouped(pairs, (_, value) => value));
      for (const head of [headText(pairs), pairs.flat()])
        assert.deepEqual(sorted(JSON.parse(responseHeadersText(head, new Set()))), expected);
    }),
  );
});

test("no header of a response shows a key in a cookie or a location", () => {
  fc.assert(
    fc.property(withSecrets, (pairs) => {
      for (const head of [headText(pairs), pairs.flat()])
        assert.doesNotMatch(responseHeadersText(head, new Set(["token"])), /secret/);
    }),
  );
});

test("headers of a request are recorded as they were sent; cookies are joined, and keys are redacted", () => {
  fc.assert(
    fc.property(headers, (pairs) => {
      const cookies = pairs.filter(([name]) => name === "Cookie").map(([, value]) => value);
      const request = { rawHeaders: pairs.flat(), headerValues: () => cookies } as unknown as IncomingRequest;
      const others = pairs.filter(([name]) => name !== "Cookie");
      const expected = grouped(others, (lower, value) => (lower === "x-b" ? "REDACTED" : value));
      if (Object.hasOwn(expected, "x-b")) expected["x-b"] = "REDACTED";
      const { cookie = null, ...members } = JSON.parse(requestHeadersText(request, new Set(["x-b", "token"])));
      assert.deepEqual(sorted(members), sorted(expected));
      assert.equal(typeof cookie === "string", cookies.length > 0);
      assert.doesNotMatch(String(cookie), /(?:^|[; ])token=secret/);
    }),
  );
});
