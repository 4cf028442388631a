/** The gateway's interface to a plugin. The config schema is in @sluice/model under the same name. */
import type { PluginConfigs, PluginName } from "@sluice/model";
import type { Counters } from "../counters/counters.ts";
import type { DirectResponse, Exchange } from "../exchange/exchange.ts";
import type { GatewayMetrics } from "../metrics/metrics.ts";

/** Services of the node for plugins; they live as long as the node. */
export interface PluginServices {
  readonly counters: Counters;
  readonly metrics: GatewayMetrics;
  /** Milliseconds since the epoch; a fake in tests. */
  now(): number;
}

/** An instance's id, and the entities to which it is attached. */
export interface PluginScope {
  readonly id: string;
  readonly serviceId: string | null;
  readonly routeId: string | null;
  readonly consumerId: string | null;
}

/** One configured instance of a plugin. It implements only the methods that it needs. */
export interface PluginInstance {
  /** Runs before forwarding, in order of priority. A response ends the exchange. */
  access?(exchange: Exchange): DirectResponse | undefined | Promise<DirectResponse | undefined>;
  /** Runs when the response's status is known and its head has not been sent, also for the gateway's own responses. */
  respond?(exchange: Exchange): void;
  /** Runs at the end of every exchange, also after a response of the gateway's own. */
  log?(exchange: Exchange): void;
}

/** Creates an instance of a plugin from its complete config. */
export type PluginHandler<Name extends PluginName> = (
  config: PluginConfigs[Name],
  scope: PluginScope,
  services: PluginServices,
) => PluginInstance;

/** Every plugin of the model has a handler; a missing one is a compile error. */
export type PluginHandlers = { readonly [Name in PluginName]: PluginHandler<Name> };
