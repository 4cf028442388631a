import { type CrdRow, commonSpecRows, lengthRows, listLengthRows, referenceRows, texts, uuid } from "./row.ts";

const tls = { secretRef: { name: "tls" } };
const snis = [{ name: "a.example" }];
const directory = "https://ca.example/directory";

export const certificateRows: readonly CrdRow[] = [
  ...commonSpecRows(tls),
  ["a Secret", tls, null],
  ...referenceRows("a Secret", (secretRef) => ({ secretRef })),
  ["server names", { ...tls, snis: [{ name: "a.example" }, { name: "*.b.example" }] }, null],
  ["a server name with all members", { ...tls, snis: [{ name: "a.*", id: uuid, tags: ["a"] }] }, null],
  ["acme and server names", { acme: {}, snis }, null],
  [
    "all members of acme",
    { acme: { domains: ["a.example"], challenge: "tls-alpn-01", directory, keyType: "rsa" } },
    null,
  ],
  ["acme and no names", { acme: {} }, /a certificate with acme needs names: set snis or acme\.domains/],
  ["acme with another challenge", { acme: { challenge: "dns-01" }, snis }, /acme\.challenge: Unsupported value/],
  ["acme and a Secret", { ...tls, acme: {}, snis }, /set exactly one of secretRef and acme/],
  ["neither acme nor a Secret", { snis }, /set exactly one of secretRef and acme/],
  ["a key in the resource", { ...tls, key: "hunter2" }, /unknown field "spec\.key"/],
  ["a reference to one entry of a Secret", { secretRef: { name: "tls", key: "tls.crt" } }, /unknown field/],
  ["the same server name twice", { ...tls, snis: [{ name: "a" }, { name: "a" }] }, /Duplicate value/],
  ["a star in the middle of a server name", { ...tls, snis: [{ name: "a.*.b" }] }, /a wildcard \* must be/],
  ["two stars in a server name", { ...tls, snis: [{ name: "*.*" }] }, /a wildcard \* must be/],
  ["a star alone as server name", { ...tls, snis: [{ name: "*" }] }, /a wildcard \* must be/],
  ["a star within a label of a server name", { ...tls, snis: [{ name: "a*.b" }] }, /a wildcard \* must be/],
  ["strings as server names", { ...tls, snis: ["a.example"] }, /spec\.snis\[0\].*must be of type object/],
  ["a server name whose id is not a UUID", { ...tls, snis: [{ name: "a", id: "1" }] }, /snis\[0\]\.id/],
  ["an item of snis without a name", { ...tls, snis: [{ id: uuid }] }, /snis\[0\]\.name: Required value/],
  ...lengthRows("server name", { from: 1, to: 255 }, (name) => ({ ...tls, snis: [{ name }] })),
  ...listLengthRows("server names", { to: 1024 }, (count) => ({
    ...tls,
    snis: texts(count).map((name) => ({ name })),
  })),
];
