/** The phase `response` of one plugin: what the plugin sees of the held response, and for how long it may be held. */
import type { DirectResponse, HeldResponse, PluginPhases } from "@sluice/plugin-sdk";
import type { PluginStep } from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { attributeToPlugin } from "../../plugin-services/running-plugin.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { headerText, type ResponseHead } from "../headers/raw-headers.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { gatewayErrorFor } from "../upstream/failure.ts";
import { mayHaveBody } from "./body-filters.ts";
import type { GatewayResponse } from "./gateway-response.ts";

/** Milliseconds for which a plugin may hold a response on a route without a service: the default of `read_timeout`. */
const WITHOUT_SERVICE = 60_000;

/** A response of which nothing has been sent to the client yet. */
export interface HeldMessage {
  readonly head: ResponseHead;
  /** Reads the body, like `body` of `HeldResponse`. */
  read(limit: number): Promise<Buffer | null>;
}

/** The steps whose phase `response` runs for the exchange, in their order. */
export const stepsThatHold = (exchange: LiveExchange): readonly PluginStep[] =>
  (exchange.chain.holdingSteps ?? []).filter((step) => holds(step, exchange));

/** A plugin that fails holds the response: its phase `response` is then answered for. */
function holds({ phases }: PluginStep, exchange: LiveExchange): boolean {
  try {
    return phases.holds?.(exchange) !== false;
  } catch {
    return true;
  }
}

/** One of the gateway's own responses as the plugins' phase `response` sees it. */
export const ownMessage = (own: GatewayResponse): HeldMessage => ({
  head: own,
  async read(limit) {
    const body = Buffer.from(own.body);
    return body.length > limit ? null : body;
  },
});

/** The upstream aborted a body while a plugin read it. */
export class ResponseBrokenError extends Error {
  override readonly name = "ResponseBrokenError";
  /** The response that the client receives. */
  readonly fault: GatewayErrorName;

  constructor(error: Error) {
    super(`the upstream aborted its response: ${error.message}`);
    this.fault = gatewayErrorFor(error);
  }
}

/**
 * Returns the response with which the plugin replaces the held one; undefined: the plugin keeps the held response.
 * Rejects with the errors of the plugin, and if the plugin holds the response for too long.
 */
export async function runResponsePhase(
  phases: PluginPhases,
  exchange: LiveExchange,
  { head, read }: HeldMessage,
): Promise<DirectResponse | undefined> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const allowed = exchange.service?.read_timeout ?? WITHOUT_SERVICE;
  const timer = new IdleTimer(() => reject(new Error(`the phase response took longer than ${allowed} ms`)));
  let isOver = false;
  const response: HeldResponse = {
    status: head.status,
    get headers() {
      return exchange.applyResponseEdits(head.headers.map(headerText));
    },
    hasBody: exchange.request.method !== "HEAD" && mayHaveBody(exchange, head.status),
    async body(limit) {
      // The timeouts of the upstream apply while the plugin waits for the body.
      timer.stop();
      try {
        return await attributeToPlugin(read(limit));
      } finally {
        if (!isOver) timer.start(allowed);
      }
    },
  };
  exchange.responseHead = head;
  timer.start(allowed);
  try {
    return await Promise.race([phases.response?.(exchange, response), late]);
  } finally {
    isOver = true;
    timer.close();
  }
}
