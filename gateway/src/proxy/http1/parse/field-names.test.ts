import assert from "node:assert/strict";
import { test } from "node:test";
import { headerIdOf, knownFieldIds, knownId, LOOKALIKE } from "./field-names.ts";

const idOf = (name: string): number => {
  const bytes = Buffer.from(`  ${name}: `);
  return headerIdOf(bytes, 2, 2 + name.length);
};

test("each known name is found in any case, and distinguished from spellings with other characters in place of dashes", () => {
  for (const [name, id] of Object.entries(knownFieldIds)) {
    const whole = name.endsWith("-") ? `${name}id` : name;
    for (const one of [name, whole]) assert.equal(idOf(one), id, one);
    assert.equal(idOf(whole.toUpperCase()), id, whole);
    for (const other of whole.includes("-") ? "!#$%&'*+.^_`|~" : "") {
      assert.equal(idOf(whole.replaceAll("-", other)), id | LOOKALIKE, `${whole} with ${other}`);
      assert.equal(idOf(whole.replace("-", other).toUpperCase()), id | LOOKALIKE, `${whole} with one ${other}`);
    }
    assert.equal(knownId(whole), name === whole ? id : 0);
  }
});

test("a name that differs from a known name in more than case and dashes is found only if it is another known name or has a known prefix", () => {
  for (const name of Object.keys(knownFieldIds)) {
    for (const other of [
      `${name}s`,
      `x${name}`,
      name.slice(1),
      name.replace(/.$/, "0"),
      `${name[0]}0${name.slice(2)}`,
    ]) {
      const meant = /^x-(consumer|credential)-/.exec(other)?.[0];
      assert.equal(idOf(other), meant === undefined ? knownId(other) : knownFieldIds[meant as "x-consumer-"], other);
    }
  }
  for (const name of ["x", "etag", "x-c", "x-custom-name", "x-consumer", "x_consume_id", "hos@", "\x0dost"]) {
    assert.equal(idOf(name), 0, name);
  }
});
