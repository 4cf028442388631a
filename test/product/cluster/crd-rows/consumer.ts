import {
  type CrdRow,
  commonSpecRows,
  lengthRows,
  listLengthRows,
  numbers,
  referenceRows,
  uuid,
  validSecretRef,
} from "./row.ts";

const ann = { username: "ann" };
const key = (member: object) => ({ ...ann, keyAuth: [{ secretRef: validSecretRef, ...member }] });

export const consumerRows: readonly CrdRow[] = [
  ...commonSpecRows(ann),
  ["a username", ann, null],
  ["a custom id", { customId: "17" }, null],
  ["a username and a custom id", { ...ann, customId: "17" }, null],
  ["neither a username nor a custom id", {}, /set username, customId or both/],
  ...lengthRows("username", { from: 1, to: 256 }, (username) => ({ username })),
  ...lengthRows("customId", { from: 1, to: 256 }, (customId) => ({ customId })),
  ["a username as a number", { username: 7 }, /must be of type string/],
  ["keys in Secrets", key({ ttl: 60, tags: ["a"], id: uuid }), null],
  ["a key in the resource", { ...ann, keyAuth: [{ key: "hunter2" }] }, /unknown field "spec\.keyAuth\[0\]\.key"/],
  ["a key without a secretRef", { ...ann, keyAuth: [{ ttl: 1 }] }, /keyAuth\[0\]\.secretRef: Required value/],
  ["a key whose id is not a UUID", key({ id: "1" }), /keyAuth\[0\]\.id/],
  ["a secretRef without a key", key({ secretRef: { name: "a" } }), /secretRef\.key: Required/],
  ["a secretRef whose key has a space", key({ secretRef: { name: "a", key: "a b" } }), /secretRef\.key/],
  ...referenceRows("a Secret", (ref) => key({ secretRef: { key: "key", ...ref } })),
  ...lengthRows("secretRef.key", { from: 1, to: 253 }, (name) => key({ secretRef: { name: "a", key: name } })),
  ...numbers("ttl", { from: 0, to: 100_000_000 }, (ttl) => key({ ttl })),
  ...listLengthRows("keys", { to: 64 }, (count) => ({
    ...ann,
    keyAuth: Array.from({ length: count }, () => ({ secretRef: validSecretRef })),
  })),
];
