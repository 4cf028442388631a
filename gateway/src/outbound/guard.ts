/**
 * Checks the destination of every configured connection, such as that of an upstream, of a health check, or of a
 * plugin's Redis. It refuses the ranges in address-ranges.ts, such as this machine and metadata services of clouds,
 * unless SLUICE_ALLOWED_UPSTREAMS allows the address. It also refuses the gateway's own listeners, unless an entry of
 * that setting has the listener's address and port. Addresses that DNS returns are checked like configured addresses.
 * Connections use the guard through `connect.ts`.
 */
import type { LookupAddress, LookupOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import type { Address } from "@sluice/model";
import { embeddedAddresses, refusedRange } from "./address-ranges.ts";
import { addressSet, canonicalAddress, isInAddressSet } from "./address-set.ts";
import { createNameService } from "./name-service.ts";
import { type RefusedDestination, RefusedDestinations } from "./refused-destinations.ts";

export class ForbiddenAddressError extends Error {
  override readonly name = "ForbiddenAddressError";
  readonly code = "SLUICE_FORBIDDEN_ADDRESS";
}

export interface GuardOptions {
  /** The entries of SLUICE_ALLOWED_UPSTREAMS. */
  readonly allowedUpstreams: readonly string[];
  /** The gateway's listeners that are known at this point. */
  readonly ownListeners: readonly Address[];
  /** The DNS servers of SLUICE_DNS_RESOLVER. Default: none; the system's resolver looks up all names. */
  readonly dnsResolver?: readonly string[];
}

export interface Guard {
  /** Also refuses this listener from now on. */
  addOwnListener(listener: Address): void;
  /** Also refuses these listeners, which replace those of the previous call: the ports of the document's listeners. */
  setDocumentListeners(listeners: readonly Address[]): void;
  /** Throws when the address is refused. A host name passes: `lookup` checks its addresses. */
  check(host: string, port: number): void;
  /** A DNS lookup, for connections to the port, that omits refused addresses. */
  lookup(port: number): LookupFunction;
  /** Why the host is refused, if that is known without DNS; null otherwise. */
  reasonToRefuse(host: string, port: number): string | null;
  refusedDestinations(): readonly RefusedDestination[];
}

export function createGuard({ allowedUpstreams, ownListeners, dnsResolver = [] }: GuardOptions): Guard {
  const own = [...ownListeners];
  let ofDocument: readonly Address[] = [];
  const exact = new Set(allowedUpstreams.filter(hasPort));
  const allowed = addressSet(allowedUpstreams.filter((entry) => !hasPort(entry)));
  const refused = new RefusedDestinations();
  const names = createNameService(dnsResolver);

  function refusal(given: string, port: number): string | null {
    const address = canonicalAddress(given);
    const withPort = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
    if (exact.has(withPort)) return null;
    const reached = [address, ...embeddedAddresses(address)];
    const isOwn = (listener: Address) => reached.some((each) => isReached(listener, each, port));
    if (own.some(isOwn) || ofDocument.some(isOwn)) {
      return `${withPort} is a listener of the gateway itself`;
    }
    const range = refusedRange(address);
    if (range === null || isInAddressSet(allowed, address)) return null;
    return `${withPort} is ${range}, which no entry of SLUICE_ALLOWED_UPSTREAMS allows`;
  }

  return {
    addOwnListener: (listener) => void own.push(listener),
    setDocumentListeners(listeners) {
      ofDocument = listeners;
    },
    check(host, port) {
      const address = withoutBrackets(host);
      const reason = isIP(address) === 0 ? null : refusal(address, port);
      if (reason === null) return;
      refused.add({ host, port, reason });
      throw new ForbiddenAddressError(reason);
    },
    lookup: (port) => (hostname, options, done) => {
      const asked: LookupOptions & { all: true } = { ...options, all: true };
      names.lookup(hostname, asked, (error, addresses) => {
        if (error) return done(error, "");
        const open = addresses.filter(({ address }) => refusal(address, port) === null);
        const [first] = open;
        if (first === undefined) {
          const reason = reasonOf(hostname, addresses, (address) => refusal(address, port));
          refused.add({ host: hostname, port, reason });
          return done(new ForbiddenAddressError(reason), "");
        }
        refused.remove(hostname, port);
        if (options.all) done(null, open);
        else done(null, first.address, first.family);
      });
    },
    reasonToRefuse(host, port) {
      const address = withoutBrackets(host);
      if (isIP(address) !== 0) return refusal(address, port);
      if (!isLocalhost(address)) return null;
      const each = ["127.0.0.1", "::1"].map((loopback) => refusal(loopback, port));
      return each.includes(null) ? null : `${host} is this machine: ${each[0]}`;
    },
    refusedDestinations: () => refused.all(),
  };
}

/** RFC 6761: these names always mean this machine, whatever DNS returns. */
const isLocalhost = (name: string): boolean => /^(?:.+\.)?localhost\.?$/i.test(name);

const withoutBrackets = (host: string): string => (host.startsWith("[") ? host.slice(1, -1) : host);

function reasonOf(
  hostname: string,
  addresses: readonly LookupAddress[],
  refusal: (address: string) => string | null,
): string {
  const reasons = addresses.flatMap(({ address }) => refusal(address) ?? []);
  return `${hostname} has no allowed address: ${reasons.join("; ")}`;
}

/** Whether an entry ends in a port, such as `1.2.3.4:80` or `[::1]:80`, but not `::1`. */
const hasPort = (entry: string): boolean => /^(?:[^:/]+|\[[^\]]+\]):\d+$/.test(entry);

function isReached(listener: Address, address: string, port: number): boolean {
  if (listener.port !== port) return false;
  if (listener.host === "localhost") return address === "127.0.0.1" || address === "::1";
  if (listener.host !== "0.0.0.0" && listener.host !== "::") return listener.host === address;
  return isInAddressSet(everyLoopback, address) || machineAddresses().has(address);
}

const everyLoopback = addressSet(["127.0.0.0/8", "::1", "0.0.0.0", "::"]);

const machineAddresses = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
