/** Field names that the gateway knows, matched by their bytes: a name becomes a number without creating a string. */
import { FOLD } from "./bytes.ts";

/**
 * Ids of the names, in lower case. Names up to `upgrade` determine framing and connection handling; those after it, up
 * to `http2-settings`, are hop-by-hop.
 */
export const knownFieldIds = {
  host: 1,
  connection: 2,
  "content-length": 3,
  "transfer-encoding": 4,
  expect: 5,
  upgrade: 6,
  "keep-alive": 7,
  te: 8,
  trailer: 9,
  "proxy-connection": 10,
  "http2-settings": 11,
  proxy: 12,
  via: 13,
  forwarded: 14,
  "x-forwarded-for": 15,
  "x-forwarded-proto": 16,
  "x-forwarded-host": 17,
  "x-forwarded-port": 18,
  "x-forwarded-path": 19,
  "x-forwarded-prefix": 20,
  "x-real-ip": 21,
  "x-anonymous-consumer": 22,
  /** Every name with this prefix. */
  "x-consumer-": 23,
  /** Every name with this prefix. */
  "x-credential-": 24,
  "x-sluice-request-id": 25,
  "x-sluice-upstream-latency": 26,
  "x-sluice-proxy-latency": 27,
  "x-sluice-response-latency": 28,
  "x-kong-request-id": 29,
  "x-kong-upstream-latency": 30,
  "x-kong-proxy-latency": 31,
  "x-kong-response-latency": 32,
  authorization: 33,
  "proxy-authorization": 34,
  "proxy-authenticate": 35,
  "www-authenticate": 36,
  apikey: 37,
  cookie: 38,
  "set-cookie": 39,
  origin: 40,
  "access-control-request-method": 41,
  "access-control-request-headers": 42,
  "content-type": 43,
  "content-encoding": 44,
  "content-range": 45,
  accept: 46,
  "accept-encoding": 47,
  "accept-language": 48,
  "user-agent": 49,
  referer: 50,
  range: 51,
  "if-match": 52,
  "if-none-match": 53,
  "if-modified-since": 54,
  "if-unmodified-since": 55,
  "if-range": 56,
  "cache-control": 57,
  pragma: 58,
  "max-forwards": 59,
  traceparent: 60,
  tracestate: 61,
  server: 62,
  date: 63,
  location: 64,
  "retry-after": 65,
  vary: 66,
  age: 67,
  expires: 68,
  "x-authenticated-groups": 69,
  "x-client-cert-dn": 70,
  "x-client-cert-san": 71,
  "sec-websocket-key": 72,
  "sec-websocket-accept": 73,
} as const;

export type KnownName = keyof typeof knownFieldIds;

const prefixes: readonly string[] = ["x-consumer-", "x-credential-"] satisfies KnownName[];
/** Ids of the names that are not prefixes. */
const ids: ReadonlyMap<string, number> = new Map(
  Object.entries(knownFieldIds).filter(([name]) => !prefixes.includes(name)),
);

/** The id of a complete name in lower case; 0 when unknown. */
export const knownId = (name: string): number => ids.get(name) ?? 0;

/** Names in lower case, by id; undefined: the id stands for a prefix of names. */
export const knownNames: readonly (string | undefined)[] = [...ids].reduce<string[]>((names, [name, id]) => {
  names[id] = name;
  return names;
}, []);

/** The last id that determines framing or is hop-by-hop. */
export const LAST_HOP = knownFieldIds["http2-settings"];

/**
 * Set in addition to an id when another character replaces a dash: the field is a different one, but upstreams may
 * confuse it with the known field (see FOLD).
 */
export const LOOKALIKE = 0x100;

/**
 * Both prefixes begin with "x-c". Few complete names do, so only names with this third character are compared with the
 * prefixes.
 */
const PREFIX_MARK = "c".charCodeAt(0);
const PREFIX_SHORTEST = "x-consumer-".length;

/**
 * Bits that do not depend on a letter's case. Each character that folds to a dash differs from a dash in one of them.
 */
const NOT_CASE = ~0x20;

/** Open-addressing hash table; the slot depends on length, first and last byte. */
const SLOTS = 512;
const slots = new Uint8Array(SLOTS);
const NAME_ROOM = 32;
/** Bytes of the names, each at id * NAME_ROOM. */
const texts = new Uint8Array(NAME_ROOM * (Object.keys(knownFieldIds).length + 1));
const lengths = new Uint8Array(Object.keys(knownFieldIds).length + 1);

const slotOf = (length: number, first: number, last: number): number => (length + first * 11 + last * 9) & (SLOTS - 1);

for (const [name, id] of Object.entries(knownFieldIds)) {
  lengths[id] = name.length;
  for (let at = 0; at < name.length; at++) texts[id * NAME_ROOM + at] = name.charCodeAt(at);
  if (prefixes.includes(name)) continue;
  let slot = slotOf(name.length, name.charCodeAt(0), name.charCodeAt(name.length - 1));
  while (slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
  slots[slot] = id;
}

/** The id of the name in [start, end), with LOOKALIKE when other characters replace dashes; 0 when unknown. */
export function headerIdOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  const first = FOLD[bytes[start] ?? 0] ?? 0;
  let slot = slotOf(length, first, FOLD[bytes[end - 1] ?? 0] ?? 0);
  for (let id = slots[slot] ?? 0; id !== 0; id = slots[slot] ?? 0) {
    if (lengths[id] === length) {
      const found = compare(bytes, start, id);
      if (found !== 0) return found;
    }
    slot = (slot + 1) & (SLOTS - 1);
  }
  if (length >= PREFIX_SHORTEST && ((bytes[start + 2] ?? 0) | 0x20) === PREFIX_MARK) {
    const consumer = compare(bytes, start, knownFieldIds["x-consumer-"]);
    return consumer !== 0 ? consumer : compare(bytes, start, knownFieldIds["x-credential-"]);
  }
  return 0;
}

/** `id` when its name, or its prefix, is at `start`, with LOOKALIKE when other characters replace dashes; else 0. */
function compare(bytes: Buffer, start: number, id: number): number {
  const text = id * NAME_ROOM;
  const length = lengths[id] ?? 0;
  let differing = 0;
  for (let at = 0; at < length; at++) {
    const byte = bytes[start + at] ?? 0;
    const wanted = texts[text + at] ?? 0;
    if (FOLD[byte] !== wanted) return 0;
    differing |= byte ^ wanted;
  }
  return (differing & NOT_CASE) === 0 ? id : id | LOOKALIKE;
}
