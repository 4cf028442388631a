/** Upstreams, targets and requests for tests of balancing. */
import { checkEntity, type IssuedCertificate, type SnapshotUpstream, type Target } from "@sluice/model";
import type { BalancingRequest } from "./algorithms/hash-source.ts";
import { Balancer, type BalancerOptions } from "./balancer.ts";
import { BalancedAttempts } from "./target-attempts.ts";
import { noResolvedTargets } from "./target-names.ts";

/** An upstream with the model's defaults; `healthchecks` may be partial. */
export function upstreamNamed(name: string, members: object = {}): SnapshotUpstream {
  const { value, violations } = checkEntity("upstreams", { name, ...members });
  if (value === undefined) throw new Error(JSON.stringify(violations));
  return value;
}

/** @param target `host:port` */
export function targetOf(upstream: SnapshotUpstream, target: string, members: Partial<Target> = {}): Target {
  const { value, violations } = checkEntity("targets", { upstream: { id: upstream.id }, target, ...members });
  if (value === undefined) throw new Error(JSON.stringify(violations));
  return value;
}

export interface TestBalancerOptions extends Partial<Omit<BalancerOptions, "upstream" | "targets">> {
  /** Members of the upstream. */
  readonly upstream?: object;
  /** Weights by address. */
  readonly targets: Readonly<Record<string, number>>;
  readonly certificate?: IssuedCertificate | null;
}

export function balancerOf({ upstream: members, targets, ...options }: TestBalancerOptions): Balancer {
  const upstream = upstreamNamed("pool", members);
  return new Balancer({
    upstream,
    targets: Object.entries(targets).map(([address, weight]) => targetOf(upstream, address, { weight })),
    endpoints: [],
    resolvedTargets: noResolvedTargets,
    certificate: null,
    authorities: null,
    trustsMachine: true,
    previous: null,
    now: () => 0,
    ...options,
  });
}

/** The tries of a request; each place is a target's address. */
export function attemptsOf(balancer: Balancer, view: BalancingRequest = balancingRequest()): BalancedAttempts<string> {
  return new BalancedAttempts(
    balancer,
    balancer.entries.map(({ member }) => member.address),
    view,
  );
}

export interface TestRequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly query?: string;
  readonly address?: string;
  readonly scheme?: "http" | "https";
  readonly consumer?: string;
  readonly captures?: Readonly<Record<string, string>>;
}

/** A request; `cookies` lists the cookies that its response sets. */
export function balancingRequest(
  shown: TestRequestOptions = {},
): BalancingRequest & { readonly cookies: readonly string[] } {
  const cookies: string[] = [];
  const { headers = {}, path = "/", query = "", address = "10.9.9.9", scheme = "http" } = shown;
  const { consumer, captures = null } = shown;
  return {
    request: { clientAddress: address, scheme, path, query, header: (name) => headers[name] },
    match: { captures },
    consumer: consumer === undefined ? null : ({ id: consumer } as BalancingRequest["consumer"]),
    credential: null,
    responseHeaders: {
      set() {},
      append: (_name, value) => cookies.push(value),
      remove() {},
      apply() {},
      applyAll() {},
    },
    cookies,
  };
}
