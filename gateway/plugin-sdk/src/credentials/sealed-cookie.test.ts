import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchange, fakeExchange } from "../../../../test/plugins/fake-exchange.ts";
import { SealedCookie, type SealOptions } from "./sealed-cookie.ts";

const cookie = {
  name: "session",
  path: "/",
  domain: null,
  sameSite: "Lax",
  secure: null,
  httpOnly: true,
} as const satisfies SealOptions["cookie"];
const options: SealOptions = { secret: "a secret", purpose: ["session", "one"], cookie };
const sealed = new SealedCookie(options);

/** The Cookie header of a client that stores the cookies of the response; deleted ones are left out. */
const sentAfter = ({ responseHeaders }: FakeExchange): string =>
  [...(responseHeaders.get("set-cookie") ?? "").matchAll(/(?:^|, )(\w+)=([\w-]+);/g)]
    .map(([, name, value]) => `${name}=${value}`)
    .join("; ");

function written(value: string, before = ""): string {
  const exchange = fakeExchange({ headers: { cookie: before } });
  assert.equal(sealed.write(exchange, value), true);
  return sentAfter(exchange);
}

const readFrom = (header: string, by = sealed) => by.read(fakeExchange({ headers: { cookie: header } }).request);

describe("a sealed cookie", () => {
  for (const length of [0, 1, 2500, 8000]) {
    it(`returns a value of ${length} bytes`, () => {
      const value = "ü".repeat(length / 2) + "x".repeat(length % 2);
      assert.equal(readFrom(`a=1; ${written(value)}; b=2`), value);
    });
  }

  it("shows nothing of the value, and differs each time", () => {
    const header = written("a value to be hidden");
    assert.doesNotMatch(Buffer.from(header.split("=")[1] ?? "", "base64url").toString("latin1"), /hidden/);
    assert.notEqual(header, written("a value to be hidden"));
  });

  it("is divided into pieces that browsers store, and is not set if it would need too many", () => {
    const header = written("x".repeat(8000));
    assert.deepEqual(
      header.split("; ").map((pair) => pair.split("=")[0]),
      ["session", "session2", "session3"],
    );
    assert.ok(header.split("; ").every((pair) => pair.length < 3900));
    const exchange = fakeExchange();
    assert.equal(sealed.write(exchange, "x".repeat(9000)), false);
    assert.equal(exchange.responseHeaders.get("set-cookie"), undefined);
  });

  it("is read although another server of the domain has set further pieces", () => {
    const long = "x".repeat(4000);
    assert.equal(readFrom(`${written(long)}; session3=other`), long);
    assert.equal(readFrom(`${written("short")}; session2=other; session3=other`), "short");
  });

  it("deletes pieces that a shorter value does not need", () => {
    const exchange = fakeExchange({ headers: { cookie: written("x".repeat(8000)) } });
    sealed.write(exchange, "short");
    assert.match(exchange.responseHeaders.get("set-cookie") ?? "", /session2=; Max-Age=0;.*session3=; Max-Age=0;/);
  });

  const header = written("value");
  const changed = header.slice(0, 30) + (header[30] === "A" ? "B" : "A") + header.slice(31);
  for (const [what, text] of [
    ["changed in one character", changed],
    ["cut off", header.slice(0, -4)],
    ["shorter than any sealed value", "session=AAAA"],
    ["empty", "session="],
    ["missing", "other=1"],
    ["not Base64url", "session=%%%"],
    ["of another name", header.replace("session", "session9")],
  ] as const) {
    it(`is not accepted if it is ${what}`, () => assert.equal(readFrom(text), null));
  }

  for (const [what, other] of [
    ["another secret", { ...options, secret: "b secret" }],
    ["another purpose", { ...options, purpose: ["session", "two"] }],
    ["a purpose with the same text split into other parts", { ...options, purpose: ["session,one"] }],
    ["another name", { ...options, cookie: { ...cookie, name: "other" } }],
  ] as const) {
    it(`is not accepted with ${what}`, () => {
      assert.equal(readFrom(header.replace("session", other.cookie.name), new SealedCookie(other)), null);
    });
  }

  it("has the attributes of its options", () => {
    const exchange = fakeExchange();
    const attributes = { ...cookie, path: "/app", domain: "app.test", sameSite: "None", secure: true } as const;
    new SealedCookie({ ...options, cookie: attributes }).write(exchange, "value");
    assert.match(
      exchange.responseHeaders.get("set-cookie") ?? "",
      /^session=[\w-]+; Path=\/app; Domain=app\.test; SameSite=None; Secure; HttpOnly$/,
    );
  });

  it("is left out of the request to the upstream, with all of its pieces", () => {
    const exchange = fakeExchange({ headers: { cookie: `a=1; ${written("x".repeat(8000))}; b=2=3` } });
    sealed.hide(exchange);
    assert.deepEqual(exchange.upstreamHeaderValues("cookie"), ["a=1; b=2=3"]);
    const only = fakeExchange({ headers: { cookie: written("value") } });
    sealed.hide(only);
    assert.deepEqual(only.upstreamHeaderValues("cookie"), []);
  });
});
