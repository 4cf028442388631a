import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { emailKey } from "./email-key.ts";

/** Every letter that has a case, alone and with each of some combining marks. */
const texts = Array.from({ length: 0x1f000 }, (_, code) => code)
  .filter((code) => code > 0x20 && (code < 0xd800 || code > 0xdfff))
  .map((code) => String.fromCodePoint(code))
  .filter((letter) => letter.toUpperCase() !== letter || letter.toLowerCase() !== letter)
  .flatMap((letter) => ["", "\u0301", "\u0308", "\u0307", "\u030c", "\u0313"].map((mark) => `a${letter}${mark}b@x.org`))
  .map((text) => text.normalize("NFC"));

describe("the form in which addresses are compared", () => {
  it("is the same for all spellings of an address: upper or lower case, composed or decomposed accents", () => {
    assert.ok(texts.length > 10_000);
    for (const text of texts) {
      const key = emailKey(text);
      const ways = [
        text.toUpperCase(),
        text.toLowerCase(),
        text.normalize("NFD"),
        text.toUpperCase().toLowerCase(),
        key,
      ];
      for (const way of ways) assert.equal(emailKey(way), key, `${text} ${way}`);
    }
  });

  it("is the address in lower case, with σ for ς, if that is sufficient, as in previous versions", () => {
    for (const [address, key] of [
      ["Ann.O'Neil+1@Example.ORG", "ann.o'neil+1@example.org"],
      ["ZOÉ@Example.org", "zoé@example.org"],
      ["ΝΊΚΟΣ@example.org", "νίκοσ@example.org"],
      ["Ann@MAIL.a_b.org", "ann@mail.a_b.org"],
    ] as const) {
      assert.equal(emailKey(address), key);
    }
  });

  for (const [domain, ways] of [
    ["example.org", ["ｅｘａｍｐｌｅ．ｏｒｇ", "EXAMPLE。org", "𝐞xample｡org", "ⓔxample.ORG"]],
    [
      "exämple.org",
      ["EXÄMPLE.org", "exa\u0308mple.org", "xn--exmple-cua.org", "XN--Exmple-CUA.org", "ｅｘäｍｐｌｅ．org"],
    ],
    ["пример.рф", ["ПРИМЕР.РФ", "xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd。РФ"]],
    // IDNA 2008 treats these as two domains, earlier versions as one.
    ["strasse.de", ["straße.de", "STRASSE.de", "STRAẞE.de", "xn--strae-oqa.de"]],
    ["νίκος.gr", ["ΝΊΚΟΣ.gr", "νίκοσ.gr"]],
  ] as const)
    it(`is the same for all spellings of the domain ${domain}`, () => {
      for (const way of ways) assert.equal(emailKey(`Ann@${way}`), emailKey(`ann@${domain}`), way);
    });

  it("has the domain in ASCII (IDNA), and keeps an invalid domain", () => {
    for (const [address, key] of [
      ["ИВАН@пример.рф", "иван@xn--e1afmkfd.xn--p1ai"],
      ["ann@exämple/x.org", "ann@exämple/x.org"],
      ["ann@ex%e4mple.xn--p1ai", "ann@ex%e4mple.xn--p1ai"],
      ["ann@ä.1", "ann@ä.1"],
      ["0x7f@127.1", "0x7f@127.1"],
    ] as const) {
      assert.equal(emailKey(address), key);
    }
  });

  it("is unchanged when it is normalized again", () => {
    for (const text of [...texts, "Ann@ｅｘäｍｐｌｅ．ＯＲＧ", "ann@straße.de", "x@νίκος.gr"]) {
      assert.equal(emailKey(emailKey(text)), emailKey(text), text);
    }
  });

  it("distinguishes addresses that differ in other ways", () => {
    for (const [one, other] of [
      ["zoe@x.org", "zoé@x.org"],
      ["müller@x.org", "mueller@x.org"],
      ["а@x.org", "a@x.org"],
      ["ann@exämple.org", "ann@example.org"],
      ["ann@exаmple.org", "ann@example.org"],
      // Compatibility forms of the local part are different mailboxes.
      ["ａnn@x.org", "ann@x.org"],
    ] as const) {
      assert.notEqual(emailKey(one), emailKey(other));
    }
  });
});
