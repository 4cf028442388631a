/** The Host header of requests to a target, as in Kong: the target's name, or the upstream's `host_header`. */
import { isIP } from "node:net";

export interface HostHeaderOptions {
  /** The upstream's `host_header`; null: the target's own name. */
  readonly given: string | null;
  /** IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly scheme: "http" | "https";
}

/** Includes the target's port, unless it is the scheme's default or `host_header` already has a port. */
export function hostHeader({ given, host, port, scheme }: HostHeaderOptions): string {
  const name = bracketed(given ?? host);
  const own = port === (scheme === "https" ? 443 : 80);
  return own || /:\d+$/.test(name.slice(name.indexOf("]") + 1)) ? name : `${name}:${port}`;
}

/** The name or address in a Host header; IPv6 without brackets. */
export const withoutPort = (host: string): string =>
  (isIP(host) === 6 ? host : host.replace(/:\d+$/, "")).replace(/^\[(.*)\]$/, "$1");

const bracketed = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);
