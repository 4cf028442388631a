/**
 * The guard in front of every upstream connection (house decision 13): loopback, link-local and the gateway's own
 * listeners are no upstreams, whether they are written as an address or a DNS server names them.
 */
import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { isIP, type LookupFunction, SocketAddress } from "node:net";
import { networkInterfaces } from "node:os";
import type { ListenAddress } from "../settings.ts";
import { addressSet, inSet, plainAddress } from "../trust.ts";

/** `::/96` has `::`, `::1` and IPv4 in its oldest disguise; `fd00:ec2::254` is a cloud's metadata service. */
const closed = addressSet(["127.0.0.0/8", "169.254.0.0/16", "0.0.0.0/8", "::/96", "fe80::/10", "fd00:ec2::254"]);

export class ForbiddenAddressError extends Error {
  override readonly name = "ForbiddenAddressError";
  readonly code = "SLUICE_FORBIDDEN_ADDRESS";
}

export interface GuardOptions {
  /** As in `ProxySettings`. */
  readonly allowedUpstreams: readonly string[];
  /** Asked at every connection, because a listener may have taken a free port. */
  readonly ownListeners: () => readonly ListenAddress[];
}

export interface Guard {
  /** Throws when the address is no upstream. A name passes: `lookup` judges what it stands for. */
  check(host: string, port: number): void;
  /** A DNS lookup for connections to the port that leaves out addresses which are no upstreams. */
  lookup(port: number): LookupFunction;
}

export function createGuard({ allowedUpstreams, ownListeners }: GuardOptions): Guard {
  const exact = new Set(allowedUpstreams.filter(hasPort));
  const allowed = addressSet(allowedUpstreams.filter((entry) => !hasPort(entry)));

  function refusal(sent: string, port: number): string | null {
    const address = canonical(sent);
    const withPort = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
    if (exact.has(withPort)) return null;
    if (ownListeners().some((listener) => isReached(listener, address, port))) {
      return `${withPort} is a listener of the gateway's own`;
    }
    if (!inSet(closed, address) || inSet(allowed, address)) return null;
    return `${withPort} is a loopback or link-local address, which no entry of SLUICE_ALLOWED_UPSTREAMS allows as an upstream`;
  }

  return {
    check(host, port) {
      const reason = isIP(host) === 0 ? null : refusal(host, port);
      if (reason !== null) throw new ForbiddenAddressError(reason);
    },
    lookup: (port) => (hostname, options, done) => {
      const asked: LookupOptions & { all: true } = { ...options, all: true };
      lookup(hostname, asked, (error, addresses) => {
        if (error) return done(error, "");
        const open = addresses.filter(({ address }) => refusal(address, port) === null);
        const [first] = open;
        if (first === undefined) return done(new ForbiddenAddressError(refusalOf(hostname, addresses)), "");
        if (options.all) done(null, open);
        else done(null, first.address, first.family);
      });
    },
  };
}

/** One spelling for one address: `::ffff:7f00:1` is 127.0.0.1. */
const canonical = (address: string): string =>
  isIP(address) === 6 ? plainAddress(new SocketAddress({ address, family: "ipv6" }).address) : address;

const refusalOf = (hostname: string, addresses: readonly LookupAddress[]): string =>
  `${hostname} stands for ${addresses.map(({ address }) => address).join(", ")}, which no entry of SLUICE_ALLOWED_UPSTREAMS allows as an upstream`;

/** `1.2.3.4:80` or `[::1]:80`, but not `::1`. */
const hasPort = (entry: string): boolean => /^(?:[^:/]+|\[[^\]]+\]):\d+$/.test(entry);

function isReached(listener: ListenAddress, address: string, port: number): boolean {
  if (listener.port !== port) return false;
  if (listener.host === "localhost") return address === "127.0.0.1" || address === "::1";
  if (listener.host !== "0.0.0.0" && listener.host !== "::") return listener.host === address;
  return inSet(everyLoopback, address) || machineAddresses().has(address);
}

const everyLoopback = addressSet(["127.0.0.0/8", "::1", "0.0.0.0", "::"]);

const machineAddresses = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
