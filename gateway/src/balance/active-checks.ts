/**
 * Active health checks: a node's own requests to targets at the configured intervals. Healthy and unhealthy targets
 * have separate intervals. The probe and the clock are injected.
 */
import { bucketDifferences, type CaCertificate, type IssuedCertificate, type Upstream } from "@sluice/model/serving";
import type { Balancer } from "./balancer.ts";
import { type CheckClock, realClock } from "./check-clock.ts";
import type { HealthSignal } from "./health.ts";
import { withoutPort } from "./host-header.ts";
import type { TargetState } from "./target-state.ts";

export interface ProbeRequest {
  readonly host: string;
  readonly port: number;
  readonly checks: Upstream["healthchecks"]["active"];
  /** The upstream's `host_header`; null: the target's own name. */
  readonly hostHeader: string | null;
  /** The TLS server name, unless the checks set `https_sni`; null: the target's own name. */
  readonly serverName: string | null;
  readonly certificate: IssuedCertificate | null;
  /** The CAs by which a target is verified; null: the CAs that the machine trusts. */
  readonly authorities: readonly CaCertificate[] | null;
  /** Whether certificates of CAs that the machine trusts are accepted too. */
  readonly trustsMachine: boolean;
}

/**
 * The response status; `connected`: a TCP check succeeded; `serving` or `not serving`: the response of a gRPC health
 * service; otherwise how the check failed, or why it was refused.
 */
export type ProbeResult =
  | number
  | "connected"
  | "serving"
  | "not serving"
  | "timeout"
  | "failed"
  | { readonly refused: string };

/** A target that cannot be checked, because the guard of outbound connections refuses its address. */
export interface RefusedHealthCheck {
  readonly upstream: string;
  readonly target: string;
  readonly reason: string;
}

/** Never rejects. Ends at once with `failed` when the signal is aborted. */
export type HealthProbe = (request: ProbeRequest, signal: AbortSignal) => Promise<ProbeResult>;

export interface ActiveHealthCheckOptions {
  readonly probe: HealthProbe;
  readonly clock?: CheckClock;
  /** Called when the guard starts to refuse a target's address, and when the reason changes. */
  readonly onRefused?: (check: RefusedHealthCheck) => void;
}

export class ActiveHealthChecks {
  readonly #tools: Required<ActiveHealthCheckOptions>;
  /** By upstream id and kind, separated by a space. */
  readonly #loops = new Map<string, CheckLoop>();
  #balancers: ReadonlyMap<string, Balancer> = new Map();

  constructor({ probe, clock = realClock, onRefused = () => {} }: ActiveHealthCheckOptions) {
    this.#tools = { probe, clock, onRefused };
  }

  /** Checks only the targets of these balancers from now on. An unchanged interval does not restart. */
  checkBalancers(balancers: ReadonlyMap<string, Balancer>): void {
    for (const { key, after } of bucketDifferences(this.#balancers, balancers))
      for (const kind of ["healthy", "unhealthy"] as const) this.#setCheckLoop(`${key} ${kind}`, kind, after);
    this.#balancers = balancers;
  }

  #setCheckLoop(key: string, kind: Kind, balancer: Balancer | undefined): void {
    const interval = balancer?.upstream.healthchecks.active[kind].interval ?? 0;
    const known = this.#loops.get(key);
    if (known !== undefined && known.interval === interval && balancer !== undefined) {
      known.balancer = balancer;
      return;
    }
    known?.stop();
    this.#loops.delete(key);
    if (balancer !== undefined && interval > 0) this.#loops.set(key, this.#start(balancer, { kind, interval }));
  }

  /** Stops all timers and aborts running checks. */
  close(): void {
    this.checkBalancers(new Map());
  }

  #start(balancer: Balancer, { kind, interval }: { readonly kind: Kind; readonly interval: number }): CheckLoop {
    return new CheckLoop({ balancer, kind, interval, ...this.#tools });
  }
}

/** Minimum milliseconds between two rounds, however short the configured interval is. */
const MIN_INTERVAL = 10;

type Kind = "healthy" | "unhealthy";

interface CheckLoopOptions extends Required<ActiveHealthCheckOptions> {
  readonly balancer: Balancer;
  readonly kind: Kind;
  /** Seconds. */
  readonly interval: number;
}

class CheckLoop {
  balancer: Balancer;
  readonly interval: number;
  readonly #options: CheckLoopOptions;
  readonly #stopped = new AbortController();
  #cancel: () => void;
  #running = false;

  constructor(options: CheckLoopOptions) {
    this.balancer = options.balancer;
    this.interval = options.interval;
    this.#options = options;
    this.#cancel = this.#schedule();
  }

  stop(): void {
    this.#cancel();
    this.#stopped.abort();
  }

  #schedule(): () => void {
    return this.#options.clock.after(Math.max(this.#options.interval * 1000, MIN_INTERVAL), () => {
      this.#cancel = this.#schedule();
      // No round starts while the previous round is running.
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    const due = this.balancer.entries
      .filter(({ member, weight }) => weight > 0 && member.health.healthy === (this.#options.kind === "healthy"))
      .map(({ member }) => member)
      .values();
    const inTurn = async () => {
      for (const member of due) await this.#check(member);
    };
    const { concurrency } = this.balancer.upstream.healthchecks.active;
    const lanes = Math.min(concurrency, this.balancer.entries.length);
    await Promise.all(Array.from({ length: lanes }, inTurn));
    this.#running = false;
  }

  /**
   * Checks a target, unless a check of it is running: if its health changes during that check, the loop for the other
   * health state may select it too.
   */
  async #check(member: TargetState): Promise<void> {
    const { signal } = this.#stopped;
    if (member.checking || signal.aborted) return;
    member.checking = true;
    const { upstream, certificate, authorities, trustsMachine } = this.balancer;
    const { host, port } = member;
    // As in clients' requests: Services with this upstream have its name as their host.
    const own = member.name === host ? null : member.name;
    const hostHeader = upstream.host_header ?? (member.isEndpoint ? upstream.name : own);
    const serverName = member.isEndpoint && hostHeader !== null ? withoutPort(hostHeader) : own;
    const checks = upstream.healthchecks.active;
    const trust = { certificate, authorities, trustsMachine };
    const request = { host, port, checks, hostHeader, serverName, ...trust };
    const result = await this.#options.probe(request, signal);
    member.checking = false;
    if (signal.aborted) return;
    this.#recordRefusal(member, typeof result === "object" ? result.refused : null);
    const { active } = this.balancer;
    const outcome = typeof result === "object" ? "failed" : result;
    const healthSignal = signalsByOutcome[String(outcome)] ?? active.signalFor(Number(outcome));
    if (healthSignal !== null) this.balancer.applySignal(member, healthSignal, active);
  }

  #recordRefusal(member: TargetState, reason: string | null): void {
    if (reason !== null && reason !== member.refusal) {
      this.#options.onRefused({ upstream: this.balancer.upstream.name, target: member.address, reason });
    }
    member.refusal = reason;
  }
}

const signalsByOutcome: Readonly<Record<string, HealthSignal>> = {
  connected: "successes",
  serving: "successes",
  "not serving": "http_failures",
  timeout: "timeouts",
  failed: "tcp_failures",
};
