/** Kong's shorthands and older spellings: `url` of a service, a single origin, `redis_host` and the like. */

import { isEmptyValue } from "@sluice/plugin-sdk";
import type { Collection } from "../entities/index.ts";
import { vaultKinds } from "../entities/vault.ts";
import type { ConfigFacts } from "../plugins/index.ts";
import { type ReplacedMembers, replaceDeprecated } from "./deprecated.ts";
import { certificateDigest } from "./rules/certificates.ts";
import { hostWithPort } from "./rules/hosts.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * Replaces shorthands. Also adds a target's port, a CA certificate's digest, and defaults that depend on another
 * member, such as `strip_path: false` for gRPC routes, and removes a plugin's `ordering` and the config of an
 * unsupported kind of vault.
 */
export function expandEntity(collection: Collection, members: Members): ReplacedMembers {
  if (collection === "services") return expandUrl(members);
  if (collection === "targets" && typeof members.target === "string") {
    return { members: { ...members, target: hostWithPort(members.target) }, violations: [] };
  }
  if (collection === "routes" && isGrpc(members.protocols)) {
    return { members: { ...members, strip_path: members.strip_path ?? false }, violations: [] };
  }
  if (collection === "ca_certificates" && typeof members.cert === "string") {
    return { members: { ...members, cert_digest: certificateDigest(members.cert) }, violations: [] };
  }
  if (collection === "plugins") return withoutOrdering(members);
  if (collection === "upstreams") return { members: withAlgorithm(members), violations: [] };
  if (collection === "vaults") return { members: withoutForeignConfig(members), violations: [] };
  return { members, violations: [] };
}

/** Sets an unset algorithm as Kong does: a hash_on other than none selects consistent hashing. */
export const withAlgorithm = (members: Members): Members =>
  typeof members.hash_on === "string" && members.hash_on !== "none" && (members.algorithm ?? null) === null
    ? { ...members, algorithm: "consistent-hashing" }
    : members;

/** Removes the config of a vault of an unsupported kind: as in Kong, the vault's only violation is at `name`. */
function withoutForeignConfig(members: Members): Members {
  if (typeof members.name === "string" && vaultKinds.includes(members.name)) return members;
  const { config: _config, ...rest } = members;
  return rest;
}

/**
 * Removes an empty `ordering`, and refuses any other. Kong's paid editions show the member for every plugin, with null
 * if it is unset.
 */
function withoutOrdering(members: Members): ReplacedMembers {
  if (!Object.hasOwn(members, "ordering")) return { members, violations: [] };
  const { ordering, ...rest } = members;
  if (isEmptyValue(ordering)) return { members: rest, violations: [] };
  const message =
    "not supported: plugins run in the order of their priorities; leave it out, and attach a plugin of your own with " +
    "another priority if the order matters";
  return { members: rest, violations: [{ path: ["ordering"], message }] };
}

const isGrpc = (protocols: unknown): boolean =>
  Array.isArray(protocols) && (protocols[0] === "grpc" || protocols[0] === "grpcs");

function expandUrl(members: Members): ReplacedMembers {
  if (!Object.hasOwn(members, "url")) return { members, violations: [] };
  const { url, ...rest } = members;
  if (url === null || url === undefined) return { members: rest, violations: [] };
  if (typeof url !== "string") return faultyUrl(rest, "expected a string");
  if (url.trim() === "") return faultyUrl(rest, "length must be at least 1");
  return { members: { ...rest, ...partsOf(url) }, violations: [] };
}

/** Sets a host, so that the host is not also reported as missing. The violation prevents the use of this host. */
const faultyUrl = (members: Members, message: string): ReplacedMembers => ({
  members: { host: "url", ...members },
  violations: [{ path: ["url"], message }],
});

/** The members of a service in a URL (RFC 3986 appendix B). User, query and fragment are dropped, as in Kong. */
function partsOf(url: string): Members {
  const [, scheme, authority = "", path = ""] =
    /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)/.exec(url) ?? [];
  const [, host = "", port = ""] = /^(?:[^@]*@)?(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(authority) ?? [];
  const protocol = scheme?.toLowerCase() ?? (port === "443" ? "https" : "http");
  return {
    protocol,
    host: host === "" ? null : host.replace(/^\[(.*)\]$/, "$1"),
    port: portOf(port, protocol),
    path: path === "" ? null : path,
  };
}

/** The port of a URL, by default the protocol's port. An invalid port is left for the schema to reject. */
function portOf(port: string, protocol: string): number | string {
  if (port === "") return protocol === "https" ? 443 : 80;
  return /^\d+$/.test(port) ? Number(port) : port;
}

export function expandConfig({ schema, expand }: ConfigFacts, config: Members): ReplacedMembers {
  try {
    return replaceDeprecated(schema, expand?.(config) ?? config);
  } catch (error) {
    // An expansion that throws is a bug of the plugin. It must not end the process, so the config counts as invalid.
    return { members: config, violations: [{ path: ["@entity"], message: `the plugin's expansion failed: ${error}` }] };
  }
}
