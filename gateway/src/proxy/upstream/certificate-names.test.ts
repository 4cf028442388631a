import assert from "node:assert/strict";
import { test } from "node:test";
import type { UpstreamName } from "@sluice/model";
import { missingName } from "./certificate-names.ts";

const dns = (value: string): UpstreamName => ({ type: "dns", value });
const uri = (value: string): UpstreamName => ({ type: "uri", value });

/** The alternative names of a certificate as Node writes them, an allowed name, and whether the certificate has it. */
const rows: readonly (readonly [text: string | undefined, allowed: UpstreamName, boolean])[] = [
  ["DNS:a.test", dns("A.test"), true],
  ["IP Address:10.0.0.1, DNS:b.test, DNS:a.test", dns("a.test"), true],
  ["DNS:b.test", dns("a.test"), false],
  ["DNS:*.test", dns("a.test"), true],
  ["DNS:*.test", dns("a.b.test"), false],
  ["DNS:*.test", dns("test"), false],
  ["DNS:a.b.test", dns("*.test"), true],
  ["DNS:test", dns("*.test"), false],
  ["DNS:*.test", dns("*.test"), true],
  ["URI:spiffe://a.test/x", uri("spiffe://a.test/x"), true],
  ["URI:spiffe://a.test/x", uri("spiffe://a.test/X"), false],
  ["URI:a.test", dns("a.test"), false],
  ['URI:"x, DNS:a.test", DNS:b.test', dns("a.test"), false],
  ['URI:"x, DNS:a.test", DNS:b.test', uri("x, DNS:a.test"), true],
  ['URI:"x, DNS:a.test', dns("a.test"), false],
  ['URI:"\\x", DNS:a.test', dns("a.test"), false],
  ["a.test", dns("a.test"), false],
  ["", dns("a.test"), false],
  [undefined, dns("a.test"), false],
];

for (const [text, name, expected] of rows)
  test(`a certificate with the names ${text ?? "(none)"} has ${expected ? "" : "not "}the ${name.type} ${name.value}`, () =>
    assert.equal(missingName({ subjectaltname: text }, [dns("other.example"), name]) === undefined, expected));
