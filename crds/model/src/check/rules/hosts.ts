/** Host names and addresses, with and without ports and wildcards. */
import { isIP, isIPv4 } from "node:net";
import type { TextRule } from "./rule.ts";

interface Host {
  readonly kind: "name" | "address";
  readonly port?: string;
}

/** A name or an IP address, and an optional port; IPv6 needs brackets only before a port. Undefined if invalid. */
function parseHost(value: string): Host | undefined {
  const bracketed = /^\[([^\]]*)\](?::(\d+))?$/.exec(value);
  if (bracketed !== null) {
    return isIP(bracketed[1] ?? "") === 6 ? { kind: "address", port: bracketed[2] } : undefined;
  }
  if (isIP(value) === 6) return { kind: "address" };
  const [, host = "", port] = /^([^:]*)(?::(\d+))?$/.exec(value) ?? [];
  if (/^[\d.]+$/.test(host)) return isIPv4(host) ? { kind: "address", port } : undefined;
  return isName(host) ? { kind: "name", port } : undefined;
}

/** Letters, digits, `-` and `_` in labels that do not end in `-`; a trailing dot is allowed. */
function isName(name: string): boolean {
  const labels = (name.endsWith(".") ? name.slice(0, -1) : name).split(".");
  return labels.every((label) => /^[A-Za-z0-9\-_]*[A-Za-z0-9_]$/.test(label));
}

const LISTENER_HOST = /^(?:\*\.)?[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

const badPort = ({ port }: Host): boolean => port !== undefined && Number(port) > 65_535;

const host: TextRule = (value) => {
  const parsed = parseHost(value);
  if (parsed === undefined) return `invalid value: ${value}`;
  return parsed.port === undefined ? undefined : "must not have a port";
};

const sniName: TextRule = (value) => {
  if (parseHost(value)?.kind === "address") return "must not be an IP";
  return host(value);
};

/** Appends the port to a host without one, and adds IPv6 brackets if needed. Invalid values are returned unchanged. */
export function hostWithPort(value: string, port = 8000): string {
  const parsed = parseHost(value);
  if (parsed === undefined || parsed.port !== undefined) return value;
  return isIP(value) === 6 ? `[${value}]:${port}` : `${value}:${port}`;
}

/** Whether the value is an IP address, optionally with a prefix length. Brackets and zones are not allowed. */
function isAddressOrBlock(value: string): boolean {
  const [, address = "", prefix = "0"] = /^([\da-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/i.exec(value) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(prefix) <= (version === 4 ? 32 : 128);
}

export const hostRules = {
  host,
  sni: sniName,
  /** A server name in which `*` may stand for the first or the last label. */
  "wildcard-sni": (value) => {
    if (!value.includes("*")) return sniName(value);
    if (value.split("*").length > 2) return "only one wildcard must be specified";
    if (!value.startsWith("*.") && !value.endsWith(".*")) return "wildcard must be leftmost or rightmost character";
    return sniName(value.replace("*", "abc"));
  },
  /** A name that is not an IP address and has no port. */
  "upstream-name": (value) => {
    const parsed = parseHost(value);
    if (parsed === undefined) return `Invalid name ('${value}'); must be a valid hostname`;
    if (parsed.kind === "address") return "Invalid name; no ip addresses allowed";
    return parsed.port === undefined ? undefined : "Invalid name; no port allowed";
  },
  target: (value) => {
    const parsed = parseHost(value);
    if (parsed === undefined || badPort(parsed)) {
      return `Invalid target ('${value}'); not a valid hostname or ip address`;
    }
    return undefined;
  },
  /** A value for the Host header. */
  "host-port": (value) => {
    const parsed = parseHost(value);
    if (parsed === undefined) return `invalid value: ${value}`;
    return badPort(parsed) ? "invalid port number" : undefined;
  },
  /** A host with at most one `*`, as its first or last label, and an optional port, which must not follow a `*`. */
  "route-host": (value) => {
    const wildcards = value.split("*").length - 1;
    if (wildcards > 1) return "invalid wildcard: must have at most one wildcard";
    if (wildcards === 1 && !value.startsWith("*.") && !value.endsWith(".*")) {
      return "invalid wildcard: must be placed at leftmost or rightmost label";
    }
    const parsed = parseHost(value.replace("*", "abc"));
    if (parsed === undefined) return `invalid hostname: ${value}`;
    return badPort(parsed) ? "invalid port number" : undefined;
  },
  /** A DNS name in lower case, in which the first label may be `*`, as in the Gateway API. */
  "listener-host": (value) =>
    LISTENER_HOST.test(value) && isIP(value) === 0
      ? undefined
      : `invalid hostname: ${value} (expected a DNS name in lower case, which may begin with '*.')`,
  "ip-or-cidr": (value) => (isAddressOrBlock(value) ? undefined : `invalid ip or cidr range: '${value}'`),
} satisfies Readonly<Record<string, TextRule>>;
