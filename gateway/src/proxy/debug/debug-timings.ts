/**
 * The decisions and durations of one request, for the `Server-Timing` header of its response (W3C Server Timing). A
 * client gets them with a valid token in `X-Sluice-Debug`.
 */
import { type Consumer, hostAndPort, type Service, type Snapshot, type SnapshotRoute } from "@sluice/model/serving";
import { type ForwardAttempt, type HeaderEdits, type PluginPhases, type Timings, traceIdOf } from "@sluice/plugin-sdk";
import { withSteps } from "../../compile/plugin-chains.ts";
import type { PluginStep, RouteChains } from "../../compile/runtime.ts";

/** The parts of an exchange that `Server-Timing` shows. */
interface TimedExchange {
  readonly route: SnapshotRoute;
  readonly service: Service | null;
  readonly consumer: Consumer | null;
  readonly timings: Timings;
  readonly attempts: readonly ForwardAttempt[];
}

interface ReceivedRequest {
  header(name: string): string | undefined;
}

/** An exchange whose response gets `Server-Timing` and the id of the trace. */
interface DebuggedExchange extends TimedExchange {
  readonly id: string;
  readonly request: ReceivedRequest;
  readonly traceId: string | null;
  readonly responseHeaders: HeaderEdits;
}

interface PluginTiming {
  milliseconds: number;
  /** `ran`, `answered` or `failed`: the result of its phase `access`; null: it has not ended. */
  result: string | null;
}

const TIMING_HEADER = "Server-Timing";
/** Header with the id of the request's trace, or, if it has no trace, with the id of the request. */
const TRACE_ID_HEADER = "X-Sluice-Trace-Id";
/** Maximum characters of a description. */
const MAX_DESCRIPTION = 100;

export class DebugTimings {
  readonly #snapshot: Snapshot;
  /** By plugin id, in the order in which the plugins ran. */
  readonly #plugins = new Map<string, PluginTiming>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** The same chains, with the phases of all plugins timed. */
  timed(chains: RouteChains): RouteChains {
    return withSteps(chains, (step) => ({ ...step, phases: this.#timedPhases(step) }));
  }

  /** Adds `Server-Timing` and the id of the trace to the response. */
  addHeaders(exchange: DebuggedExchange): void {
    const { id, request, traceId, responseHeaders } = exchange;
    responseHeaders.append(TIMING_HEADER, this.serverTiming(exchange));
    responseHeaders.set(TRACE_ID_HEADER, traceId ?? traceIdOf(request.header("traceparent")) ?? id);
  }

  /**
   * The value of `Server-Timing`. Durations are in milliseconds; a plugin's duration is the time that all its phases
   * have taken so far.
   */
  serverTiming({ route, service, consumer, timings, attempts }: TimedExchange, now = performance.now()): string {
    const { started, forwarded, answered } = timings;
    const failed = attempts.filter((attempt) => attempt.failed);
    const last = attempts.findLast((attempt) => !attempt.failed);
    return [
      metric("route", { description: route.name ?? route.id }),
      ...(service === null ? [] : [metric("service", { description: service.name ?? service.id })]),
      ...(consumer === null ? [] : [metric("consumer", { description: consumer.username ?? consumer.id })]),
      ...[...this.#plugins].map(([id, { milliseconds, result }]) =>
        metric(`plugin-${this.#snapshot.plugins.get(id)?.name ?? id}`, { milliseconds, description: result }),
      ),
      metric("gateway", { milliseconds: (attempts[0]?.started ?? now) - started }),
      ...failed.map((attempt, at) => {
        const next = attempts[attempts.indexOf(attempt) + 1]?.started ?? now;
        return metric(`failed-try-${at + 1}`, {
          milliseconds: next - attempt.started,
          description: hostAndPort(attempt),
        });
      }),
      ...(last === undefined || forwarded === undefined
        ? []
        : [metric("upstream", { milliseconds: (answered ?? now) - forwarded, description: hostAndPort(last) })]),
      metric("total", { milliseconds: now - started }),
    ].join(", ");
  }

  #timedPhases({ id, phases }: PluginStep): PluginPhases {
    const { access, response, responseHeaders } = phases;
    const timing = () => {
      let known = this.#plugins.get(id);
      if (known === undefined) {
        known = { milliseconds: 0, result: null };
        this.#plugins.set(id, known);
      }
      return known;
    };
    return {
      // Bound, because a phase may be a method that uses `this`.
      ...(phases.responseBody && { responseBody: phases.responseBody.bind(phases) }),
      ...(phases.log && { log: phases.log.bind(phases) }),
      ...(access && {
        access(exchange) {
          const own = timing();
          const since = performance.now();
          const ended = (result: string) => {
            own.milliseconds += performance.now() - since;
            own.result = result;
          };
          try {
            const answer = access.call(phases, exchange);
            if (!(answer instanceof Promise)) {
              ended(answer === undefined ? "ran" : "answered");
              return answer;
            }
            return answer.then(
              (known) => {
                ended(known === undefined ? "ran" : "answered");
                return known;
              },
              (error) => {
                ended("failed");
                throw error;
              },
            );
          } catch (error) {
            ended("failed");
            throw error;
          }
        },
      }),
      ...(response && {
        async response(...given) {
          const own = timing();
          const since = performance.now();
          try {
            return await response.apply(phases, given);
          } finally {
            own.milliseconds += performance.now() - since;
          }
        },
      }),
      ...(responseHeaders && {
        responseHeaders(exchange) {
          const own = timing();
          const since = performance.now();
          try {
            responseHeaders.call(phases, exchange);
          } finally {
            own.milliseconds += performance.now() - since;
          }
        },
      }),
    };
  }
}

/** Headers of the response to a request that matched no route, as a flat list. */
export function unroutedDebugHeaders(
  request: ReceivedRequest,
  { id, started }: { readonly id: string; readonly started: number },
): readonly string[] {
  const timing = metric("total", { milliseconds: performance.now() - started, description: "no route matched" });
  return [TIMING_HEADER, timing, TRACE_ID_HEADER, traceIdOf(request.header("traceparent")) ?? id];
}

interface MetricOptions {
  readonly milliseconds?: number;
  readonly description?: string | null;
}

/** Microseconds are enough, and keep the header short. */
const DIGITS = 3;

function metric(name: string, { milliseconds, description }: MetricOptions): string {
  const duration = milliseconds === undefined ? "" : `;dur=${Number(Math.max(0, milliseconds).toFixed(DIGITS))}`;
  return `${name}${duration}${description ? `;desc=${quoted(description)}` : ""}`;
}

/** A quoted string (RFC 9110 section 5.6.4) of printable ASCII. */
const quoted = (text: string): string =>
  `"${text
    .slice(0, MAX_DESCRIPTION)
    .replaceAll(/[^ -~]/g, "?")
    .replaceAll(/["\\]/g, "\\$&")}"`;
