import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkTexts, MAX_EMAIL, MAX_NAME } from "./arguments.ts";

const email = "ann@example.org";
const name = "Ann";

/** The value as titles show it: as JSON, with ? for every character that is not printable ASCII, and shortened. */
function shown(value: unknown): string {
  const text = JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, "?");
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

describe("a new user", () => {
  it("has its name and e-mail address trimmed, and its name converted to composed characters (NFC)", () => {
    assert.deepEqual(checkTexts({ name: "  Zoe\u0301\n", email: ` ${email} ` }), { value: { name: "Zoé", email } });
  });

  const fine = [
    { name: "x".repeat(MAX_NAME), email },
    { name: "🐙".repeat(MAX_NAME), email },
    { name: 'O\'Neil "the" <b>', email },
    { name: "Ann 👩\u200d🚀 نامه\u200cها", email },
    { name, email: "ann+tag@mail.example.co.uk" },
    { name, email: "änn@exämple.org" },
    { name, email: "ann@пример.рф" },
    { name, email: "ann@xn--exmple-cua.org" },
    { name, email: "ann@ｅｘａｍｐｌｅ．ｏｒｇ" },
  ];
  for (const value of fine) {
    it(`may be ${shown(value)}`, () => assert.deepEqual(checkTexts(value), { value }));
  }

  const faulty = [
    [{ name: " \t ", email }, ["name must not be blank"]],
    [{ name: "\u200b \u2060\u00ad", email }, ["name must not be blank"]],
    [{ name: "\u3164\ufe0f\u202e", email }, ["name must not be blank"]],
    [{ name, email: "\u200b" }, ["email must not be blank"]],
    [{ name: "x".repeat(MAX_NAME + 1), email }, [`name must not be longer than ${MAX_NAME} characters`]],
    [{ name: "a\u0000b", email }, ["name must not contain control characters or unpaired surrogates"]],
    [{ name: "a\ud800", email }, ["name must not contain control characters or unpaired surrogates"]],
    [{ name, email: "" }, ["email must not be blank"]],
    [{ name, email: `a@${"x".repeat(MAX_EMAIL)}.org` }, [`email must not be longer than ${MAX_EMAIL} bytes`]],
    [{ name: "", email: "x" }, ["name must not be blank", "email must be an e-mail address, such as ann@example.org"]],
  ] as const;
  for (const [value, faults] of faulty) {
    it(`${shown(value)} is refused: ${faults.join("; ")}`, () => {
      const result = checkTexts(value);
      assert.ok("violations" in result);
      assert.deepEqual(
        result.violations.map(({ path, message }) => `${path[0]} ${message}`),
        faults,
      );
    });
  }

  const noAddresses = [
    "ann",
    "@example.org",
    "ann@",
    "ann@localhost",
    "a b@x.org",
    "a@b@x.org",
    "a@x..org",
    "<a@x.org>",
    "a\u200b@x.org",
    "a@x\u00ad.org",
    "a\u202e@x.org",
    "ann@exämple。",
    "ann@ä。。org",
    "ann@exämple.1",
    "ann@exämple／x.org",
    "ann@b＠example.org",
    "ann@exämple％2e.org",
    "ann@xn--iñvalid.org",
  ];
  for (const address of noAddresses) {
    it(`cannot have an address like ${shown(address)}`, () =>
      assert.ok("violations" in checkTexts({ name, email: address })));
  }
});
