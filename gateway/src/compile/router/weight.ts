/**
 * The weight of a route: the part of its precedence that depends on which attributes it sets. It is one small integer,
 * so that most comparisons of two routes compare two numbers.
 */
import { parseHostPattern } from "./host-pattern.ts";

export interface WeightedAttributes {
  readonly hosts: readonly string[];
  readonly headerCount: number;
  readonly hasPath: boolean;
  readonly isRegex: boolean;
  readonly hasMethods: boolean;
  readonly hasServerNames: boolean;
}

// Kinds of attributes by their place in the order host > header > path > method > sni.
const HOST = 16;
const HEADER = 8;
const PATH = 4;
const METHOD = 2;
const SNI = 1;

const WILDCARD_WITH_PORT = 4;
export const PLAIN_HOSTS = 2;
const REGEX_PATH = 1;

/** The model allows 16 header names; the weight has room for more, so that an overflow cannot change the order. */
const HEADER_COUNTS = 1024;

/** By Kong's rules; the higher wins. */
export function weightOf(attributes: WeightedAttributes): number {
  const { hosts, headerCount, hasPath, isRegex, hasMethods, hasServerNames } = attributes;
  const kinds =
    (hosts.length > 0 ? HOST : 0) |
    (headerCount > 0 ? HEADER : 0) |
    (hasPath ? PATH : 0) |
    (hasMethods ? METHOD : 0) |
    (hasServerNames ? SNI : 0);
  return packed(kinds, hostKind(hosts) | (isRegex ? REGEX_PATH : 0), headerCount);
}

/**
 * For routes with a priority. They rank like Kong routes that have only a host and a regular expression as path, but
 * before such Kong routes. These have no headers, so the space of the header count holds how specific the host is.
 */
export function weightWithPriority(hosts: readonly string[]): number {
  const kinds = (hosts.length > 0 ? HOST : 0) | PATH;
  return packed(kinds, hostKindWithPriority(hosts) | REGEX_PATH, hostSpecificity(hosts));
}

const packed = (kinds: number, kindBits: number, low: number): number =>
  ((count(kinds) * 32 + kinds) * 8 + kindBits) * HEADER_COUNTS + Math.min(low, HEADER_COUNTS - 1);

export function hostKind(hosts: readonly string[]): number {
  if (hosts.length === 0) return 0;
  const wildcards = hosts.map(parseHostPattern).filter((host) => host.kind !== "plain");
  if (wildcards.length === 0) return PLAIN_HOSTS;
  return wildcards.some((host) => host.port !== "") ? WILDCARD_WITH_PORT : 0;
}

/** A host without a wildcard ranks before every wildcard, even before one with a port. */
export const hostKindWithPriority = (hosts: readonly string[]): number =>
  hostKind(hosts) === PLAIN_HOSTS ? PLAIN_HOSTS : 0;

/**
 * Of two wildcards that match the same host, the longer one is more specific. A port decides only between equal names.
 * The model allows one host.
 */
function hostSpecificity([host]: readonly string[]): number {
  if (host === undefined) return 0;
  const { name, port } = parseHostPattern(host);
  return name.length * 2 + (port === "" ? 0 : 1);
}

const count = (bits: number): number => {
  let left = bits;
  let ones = 0;
  for (; left > 0; left >>= 1) ones += left & 1;
  return ones;
};
