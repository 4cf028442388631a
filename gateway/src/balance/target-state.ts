/** The health and load of a target. The state survives documents in which the target keeps its id and address. */
import { isIP } from "node:net";
import type { Target } from "@sluice/model";
import { HEALTHY, type HealthState } from "./health.ts";

/** What distinguishes a member of a balancer. */
export interface MemberIdentity extends Pick<Target, "id" | "target"> {
  /** `host:port`. Default: that of the target. */
  readonly address?: string;
  /** Default: the host of the address. */
  readonly name?: string;
  /** Default: false. */
  readonly isEndpoint?: boolean;
}

export class TargetState {
  /** An endpoint is not an entity: its id is its address. */
  readonly id: string;
  /** `host:port`, as in the entity. */
  readonly target: string;
  /** `host:port` of this member: that of the target, or one of the addresses of the target's name. */
  readonly address: string;
  /** Whether the target is an endpoint of a core Service. Its address is not the name of the server. */
  readonly isEndpoint: boolean;
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** The name for the Host header and for TLS: `host`, or the name that has this address. */
  readonly name: string;
  health: HealthState = HEALTHY;
  /** When the member was added to its upstream or became healthy again, by the balancer's clock. */
  startedAt = Number.NEGATIVE_INFINITY;
  /** Requests and tunnels in flight. */
  inFlight = 0;
  readonly latency = new LatencyAverage();
  /** Why the guard of outbound connections refused the address at the last check; null: it did not. */
  refusal: string | null = null;
  checking = false;

  constructor({ id, target, address = target, name, isEndpoint = false }: MemberIdentity) {
    this.id = id;
    this.target = target;
    this.address = address;
    this.isEndpoint = isEndpoint;
    const { host, port } = parseTargetAddress(address);
    this.host = host;
    this.port = port;
    this.name = name ?? host;
  }
}

/** Port of a target that has no port, as in Kong. */
const DEFAULT_PORT = 8000;

/** Parses `name:1`, `1.2.3.4:1` or `[::1]:1`, or the same without the port; the model has validated the form. */
export function parseTargetAddress(target: string): { readonly host: string; readonly port: number } {
  if (isIP(target) === 6) return { host: target, port: DEFAULT_PORT };
  const [, bracketed, plain = "", port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(target) ?? [];
  return { host: bracketed ?? plain, port: port === undefined ? DEFAULT_PORT : Number(port) };
}

/** Milliseconds in which a sample loses about two thirds of its weight. */
const FADE = 10_000;
/** Minimum latency of a failed try in milliseconds: a target that refuses connections must not seem the fastest. */
export const FAILED_TRY_LATENCY = 1000;

/** A target's response time as an average that rises at once, falls slowly and decays without samples. */
export class LatencyAverage {
  #average = 0;
  #at = 0;

  /** @param duration milliseconds */
  add(duration: number, now: number): void {
    const before = this.valueAt(now);
    const kept = Math.exp(-Math.max(0, now - this.#at) / FADE);
    this.#average = duration > before ? duration : before * kept + duration * (1 - kept);
    this.#at = now;
  }

  /** The average in milliseconds. It decays while the target gets no requests, so that a slow target is tried again. */
  valueAt(now: number): number {
    return this.#average * Math.exp(-Math.max(0, now - this.#at) / FADE);
  }
}
