/** The definition of a plugin: its schema, and the phases of an exchange in which it acts. */
import type { DirectResponse, Exchange } from "./exchange/exchange.ts";
import type { RecordSchema, Static } from "./schema/member.ts";
import type { RecordMembers } from "./schema/rules.ts";
import type { PluginServices } from "./services/services.ts";
import type { Violation } from "./violation.ts";

/** What is known of a plugin without its code: enough to validate, order and describe its instances. */
export interface PluginFacts<Schema extends RecordSchema = RecordSchema, Name extends string = string> {
  /** As in the field `name` of a Plugin: lower-case letters, digits and `-`. */
  readonly name: Name;
  /** The plugin's own version, such as "1.0.0". */
  readonly version: string;
  /** Order of execution, the highest first. Plugins that Kong has too have the same priority as there. */
  readonly priority: number;
  /** Whether the plugin protects its targets: if it is invalid, its routes answer 503 instead of staying open. */
  readonly protects: boolean;
  /** Targets that this plugin does not support (Kong: `value must be null`). Default: none. */
  readonly refuses?: readonly PluginTarget[];
  readonly schema: Schema;
  /** Replaces short forms that the schema does not have, such as one string for a list of strings. */
  expand?(config: RecordMembers): RecordMembers;
  /**
   * Checks between members. It gets the config with defaults, even if members are invalid. Paths start at the config.
   */
  check?(config: RecordMembers): readonly Violation[];
  /** The checks of `check` in Kong's schema language, for `GET /schemas/plugins/{name}`. Names begin with `config.`. */
  readonly kongChecks?: readonly KongCheck[];
}

/** An entry of `entity_checks` in Kong's schema language, such as `{ at_least_one_of: ["config.second"] }`. */
export type KongCheck = Readonly<Record<string, unknown>>;

/** The kinds of entities that a plugin can be attached to. */
export type PluginTarget = "service" | "route" | "consumer";

/** An instance's id, and the ids of the entities to which it is attached. */
export interface PluginScope {
  readonly id: string;
  readonly serviceId: string | null;
  readonly routeId: string | null;
  readonly consumerId: string | null;
}

/** The scope of an instance, and the services that it may use. */
export interface PluginContext extends PluginServices {
  readonly scope: PluginScope;
}

/** The phases of an exchange in which an instance acts. It implements only those that it needs. */
export interface PluginPhases {
  /** Runs before forwarding, in order of priority. A response ends the exchange. */
  access?(exchange: Exchange): DirectResponse | undefined | Promise<DirectResponse | undefined>;
  /** Runs when the response's status is known and its head has not been sent, also for the gateway's own responses. */
  responseHeaders?(exchange: Exchange): void;
  /** Runs at the end of every exchange, also if the gateway itself created the response. */
  log?(exchange: Exchange): void;
}

export interface PluginDefinition<Schema extends RecordSchema = RecordSchema> extends PluginFacts<Schema> {
  /**
   * Creates an instance from its complete config. Called once for each configured instance, and again when it changes.
   */
  phases(config: Static<Schema>, context: PluginContext): PluginPhases;
}

/** Defines a plugin. The schema gives the type of `config`. */
export const definePlugin = <Schema extends RecordSchema>(plugin: PluginDefinition<Schema>): PluginDefinition<Schema> =>
  plugin;

/** The facts of a plugin whose phases are in another file, so that a process can read its schema without its code. */
export const definePluginFacts = <Schema extends RecordSchema, Name extends string>(
  facts: PluginFacts<Schema, Name>,
): PluginFacts<Schema, Name> => facts;
