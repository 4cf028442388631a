/** What a plugin is to the gateway. Its config schema stands in @sluice/model under the same name. */
import type { PluginConfigs, PluginName } from "@sluice/model";
import type { DirectResponse, Exchange } from "../proxy/exchange/exchange.ts";
import type { Metrics } from "./prometheus/metrics.ts";
import type { Counters } from "./rate-limiting/counters.ts";

/** What the node offers to plugins: things that live as long as the node. */
export interface PluginServices {
  readonly counters: Counters;
  readonly metrics: Metrics;
  /** Milliseconds since the epoch; a fake in tests. */
  now(): number;
}

/** Where a plugin was attached: part of a counter's key, so that two uses do not share it. */
export interface PluginScope {
  readonly id: string;
  readonly serviceId: string | null;
  readonly routeId: string | null;
  readonly consumerId: string | null;
}

/** One use of a plugin with its config. Every method is optional in effect; a plugin has the ones it needs. */
export interface PluginInstance {
  /** Before forwarding, in order of priority. An answer ends the exchange. */
  access?(exchange: Exchange): DirectResponse | undefined | Promise<DirectResponse | undefined>;
  /** The response's status is known and its head has not been sent. Runs also for answers of the gateway's own. */
  respond?(exchange: Exchange): void;
  /** The exchange is over; runs always, also after an answer of the gateway's own. */
  log?(exchange: Exchange): void;
}

/** Makes an instance of a plugin from its filled config. */
export type PluginHandler<Name extends PluginName> = (
  config: PluginConfigs[Name],
  scope: PluginScope,
  services: PluginServices,
) => PluginInstance;

/** Every plugin of the model has a handler; a missing one does not compile. */
export type PluginHandlers = { readonly [Name in PluginName]: PluginHandler<Name> };
