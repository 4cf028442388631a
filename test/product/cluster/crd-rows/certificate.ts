import { common, counts, lengths, type Row, references, texts, uuid } from "./row.ts";

const tls = { secretRef: { name: "tls" } };

export const certificate: readonly Row[] = [
  ...common(tls),
  ["a Secret", tls, null],
  ...references("a Secret", (secretRef) => ({ secretRef })),
  ["server names", { ...tls, snis: [{ name: "a.example" }, { name: "*.b.example" }] }, null],
  ["a name with all members", { ...tls, snis: [{ name: "a.*", id: uuid, tags: ["a"] }] }, null],
  ["no Secret", { snis: [{ name: "a.example" }] }, /spec\.secretRef: Required value/],
  ["a key in the resource", { ...tls, key: "hunter2" }, /unknown field "spec\.key"/],
  ["an entry of the Secret", { secretRef: { name: "tls", key: "tls.crt" } }, /unknown field/],
  ["a name twice", { ...tls, snis: [{ name: "a" }, { name: "a" }] }, /Duplicate value/],
  ["a star in the middle", { ...tls, snis: [{ name: "a.*.b" }] }, /a wildcard \* must be/],
  ["two stars", { ...tls, snis: [{ name: "*.*" }] }, /a wildcard \* must be/],
  ["a star alone", { ...tls, snis: [{ name: "*" }] }, /a wildcard \* must be/],
  ["a star within a label", { ...tls, snis: [{ name: "a*.b" }] }, /a wildcard \* must be/],
  ["names as texts", { ...tls, snis: ["a.example"] }, /spec\.snis\[0\].*must be of type object/],
  ["a name whose id is no UUID", { ...tls, snis: [{ name: "a", id: "1" }] }, /snis\[0\]\.id/],
  ["an entry without a name", { ...tls, snis: [{ id: uuid }] }, /snis\[0\]\.name: Required value/],
  ...lengths("server name", { from: 1, to: 255 }, (name) => ({ ...tls, snis: [{ name }] })),
  ...counts("server names", { to: 1024 }, (count) => ({ ...tls, snis: texts(count).map((name) => ({ name })) })),
];
