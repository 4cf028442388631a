/** The plugins of one explanation: instances with read-only services in place of those that serve requests. */
import type { Consumer, ExplainedPlugin, PluginResult, Snapshot, SnapshotPlugin } from "@sluice/model";
import {
  type AuthenticatedIdentity,
  applyIdentity,
  type DirectResponse,
  type Exchange,
  type PluginPhases,
  type RawConnection,
} from "@sluice/plugin-sdk";
import { protocolOf, withSteps } from "../compile/plugin-chains.ts";
import type {
  CompiledRoute,
  ConnectionPlugins,
  PluginCandidate,
  PluginStep,
  PluginTools,
  RoutePluginChains,
  Runtime,
  Scheme,
} from "../compile/runtime.ts";
import { idAndNameOf } from "../exchange/entity-name.ts";
import type { PluginInstance } from "../plugin-services/plugin-instance.ts";
import { BodyLostError } from "../proxy/client/client-body.ts";
import type { LiveExchange } from "../proxy/exchange/live-exchange.ts";
import { type ReadOnlyActivity, readOnlyServices } from "./read-only-services.ts";

/** Answers of plugins that are not computed by running them. */
export interface PluginAssumptions {
  /** The identity that the plugin finds in the request; null: the plugin runs. */
  identityBy(plugin: SnapshotPlugin): AuthenticatedIdentity | null;
  /** Why the answer of the plugin cannot be known here; null: the plugin runs. */
  whyUnknown(plugin: SnapshotPlugin): string | null;
}

export interface ExplainedPluginsOptions {
  readonly runtime: Runtime;
  readonly tools: PluginTools;
  readonly assumptions?: PluginAssumptions;
  readonly activity: Pick<ReadOnlyActivity, "logged"> & {
    counted(plugin: string, ...counted: Parameters<ReadOnlyActivity["counted"]>): void;
  };
}

/** Maximum characters of an error of a plugin. */
const MAX_REASON = 500;

/** Each call needs a promise of its own, which is freed with the code that awaits it. */
const never = () => new Promise<never>(() => {});

export class ExplainedPlugins {
  readonly #options: ExplainedPluginsOptions;
  readonly #results = new Map<string, { readonly result: PluginResult; readonly reason: string | null }>();
  readonly #instances: PluginInstance[] = [];
  readonly #unknown = Promise.withResolvers<string>();
  #reason: string | null = null;
  /** Id of the plugin that runs. */
  #current = "";

  constructor(options: ExplainedPluginsOptions) {
    this.#options = options;
  }

  /** Resolves to the reason when the result of a plugin cannot be known. */
  get unknown(): Promise<string> {
    return this.#unknown.promise;
  }

  /** Why the result cannot be known; null: it can. */
  get reason(): string | null {
    return this.#reason;
  }

  /** The route with chains that contain the explained instances. */
  explained(route: CompiledRoute): CompiledRoute {
    const { chains } = route;
    const newStep = (step: PluginStep) => this.#newStep(step);
    const explainedChains = (scheme: Scheme) => withSteps(chains[scheme], newStep);
    let connections: ConnectionPlugins | undefined;
    const explained: RoutePluginChains = {
      get http() {
        return explainedChains("http");
      },
      get https() {
        return explainedChains("https");
      },
      get connections() {
        connections ??= { ...chains.connections, steps: chains.connections.steps.map(newStep) };
        return connections;
      },
      candidates: (consumer) => chains.candidates(consumer),
    };
    return { ...route, chains: explained };
  }

  /** Called when the running plugin needs something that the explanation does not have. */
  lacks(reason: string): void {
    this.#end(this.#current, reason);
  }

  /** The plugins in the order in which they run, and then those that do not apply. */
  list(route: CompiledRoute, { chain, consumer, request }: LiveExchange): readonly ExplainedPlugin[] {
    const { snapshot } = this.#options.runtime;
    const inChain = chain.steps.flatMap(({ id, phases }): readonly ExplainedPlugin[] => {
      const { result, reason } = this.#results.get(id) ?? {
        result: phases.access === undefined ? ("applies" as const) : ("not reached" as const),
        reason: closedReason(snapshot, id) ?? headersText(snapshot, id),
      };
      return this.#describe(id, result, reason);
    });
    const protocol = protocolOf(route.route, request.scheme);
    return this.#withOthers(inChain, { route, consumer }, ({ id, protocols }, winner) => {
      if (!protocols.includes(protocol)) return ["other protocol", `it does not act on ${protocol}`];
      if (winner === null) return ["not reached", "when it would run, the consumer is not known yet"];
      const reasons = [this.#moreSpecific(winner), headersText(snapshot, id)];
      return ["overridden", reasons.filter((text) => text !== null).join("; otherwise it ")];
    });
  }

  /** As `list`, for a connection that is not HTTP. */
  listForConnection(route: CompiledRoute): readonly ExplainedPlugin[] {
    const { tools } = this.#options;
    const { steps, closed } = route.chains.connections;
    const closing = closed === null ? [] : this.#describe(closed.plugin, "answered", closed.reason);
    const acting = steps.flatMap(({ id, phases }): readonly ExplainedPlugin[] => {
      if (id === closed?.plugin) return [];
      const isLater = closed === null && phases.connection === undefined;
      const { result, reason } = this.#results.get(id) ?? {
        result: isLater ? ("applies" as const) : ("not reached" as const),
        reason: isLater ? "it acts when the connection has ended" : null,
      };
      return this.#describe(id, result, reason);
    });
    return this.#withOthers([...closing, ...acting], { route, consumer: null }, ({ name }, winner) => {
      if (winner !== null) return ["overridden", this.#moreSpecific(winner)];
      const acts = tools.plugins.get(name)?.actsOnConnections !== undefined;
      return [
        "other protocol",
        acts ? "its protocols are those of requests: add tcp, tls or tls_passthrough" : "it acts on requests only",
      ];
    });
  }

  /** Adds the plugins that do not apply, and disabled ones. @param why Called with the plugin that applies instead */
  #withOthers(
    applied: readonly ExplainedPlugin[],
    { route, consumer }: { readonly route: CompiledRoute; readonly consumer: Consumer | null },
    why: (plugin: PluginCandidate, winner: PluginCandidate | null) => readonly [result: PluginResult, reason: string],
  ): readonly ExplainedPlugin[] {
    const known = new Set(applied.map(({ id }) => id));
    const candidates = route.chains.candidates(consumer);
    const others = candidates.flatMap((plugin, at): readonly ExplainedPlugin[] => {
      if (known.has(plugin.id)) return [];
      const isWinner = ({ id, name }: PluginCandidate) => name === plugin.name && known.has(id);
      return this.#describe(plugin.id, ...why(plugin, candidates.slice(0, at).find(isWinner) ?? null));
    });
    const disabled = [...this.#options.runtime.snapshot.plugins.values()]
      .filter((plugin) => !plugin.enabled && isInScope(plugin, route, consumer))
      .flatMap(({ id }) => this.#describe(id, "disabled", null));
    return [...applied, ...others, ...disabled];
  }

  #moreSpecific({ id, name }: PluginCandidate): string {
    const scope = scopeOf(this.#options.runtime.snapshot, id);
    return `the plugin ${name} of ${pluginScopeText(scope)} is more specific`;
  }

  #describe(id: string, result: PluginResult, reason: string | null): readonly ExplainedPlugin[] {
    const { runtime, tools } = this.#options;
    const plugin = runtime.snapshot.plugins.get(id);
    if (plugin === undefined) return [];
    const facts = tools.plugins.get(plugin.name);
    return [
      {
        id,
        label: plugin.instance_name ?? id,
        name: plugin.name,
        scope: scopeOf(runtime.snapshot, id),
        result,
        reason,
        identifies: facts?.identifies ?? facts?.credentials !== undefined,
      },
    ];
  }

  /** Ends all instances. No phase runs afterwards. */
  close(): void {
    this.#reason ??= "the explanation has ended";
    for (const instance of this.#instances) instance.discard();
  }

  #newStep(real: PluginStep): PluginStep {
    const { id, priority } = real;
    const { runtime, tools, activity } = this.#options;
    const assumed = this.#assumedPhases(id);
    if (assumed !== null) return { id, priority, phases: assumed };
    // Without an instance, such as for a closed plugin, the step only answers.
    if (runtime.pluginPhases(id) === null) return { id, priority, phases: this.#explainedPhases(id, real.phases) };
    /** What the instance would have sent while it was created; null: nothing. */
    let sentAtCreation: string | null = null;
    let isCreated = false;
    const services = readOnlyServices(tools.services, {
      activity: {
        ...activity,
        counted: (...counted) => activity.counted(id, ...counted),
        sending: (what) => {
          if (isCreated) this.#end(id, what);
          else sentAtCreation ??= what;
        },
      },
      cacheOf: () => runtime.pluginCache(id),
    });
    const made = runtime.newPluginStep(id, { plugins: tools.plugins, services });
    isCreated = true;
    // Real instances must not run: their services change counters and caches, and send requests.
    if (made === null) throw new Error(`the plugin ${id} is not in the snapshot`);
    if (made.instance) this.#instances.push(made.instance);
    const reason: string | null = sentAtCreation;
    const phases = reason === null ? this.#explainedPhases(id, made.step.phases) : this.#unknownPhases(id, reason);
    return { id, priority, phases };
  }

  /** Null: the plugin runs. */
  #assumedPhases(id: string): PluginPhases | null {
    const { runtime, assumptions } = this.#options;
    const plugin = runtime.snapshot.plugins.get(id);
    if (plugin === undefined || assumptions === undefined) return null;
    const reason = assumptions.whyUnknown(plugin);
    if (reason !== null) return this.#unknownPhases(id, reason);
    const identity = assumptions.identityBy(plugin);
    if (identity === null) return null;
    return this.#explainedPhases(id, { access: (exchange) => void applyIdentity(exchange, identity) });
  }

  #unknownPhases(id: string, reason: string): PluginPhases {
    return {
      access: () => this.#run(id, async () => this.#end(id, reason)),
      connection: () => this.#end(id, reason),
    };
  }

  #explainedPhases(id: string, phases: PluginPhases): PluginPhases {
    const { access, response, responseHeaders, responseBody, connection } = phases;
    return {
      ...(connection && { connection: (stream) => this.#connection(id, stream, connection.bind(phases)) }),
      ...(access && { access: (exchange) => this.#access(id, exchange, access.bind(phases)) }),
      ...(response && { response: (...given) => this.#run(id, async () => response.apply(phases, given)) }),
      ...(responseHeaders && { responseHeaders: responseHeaders.bind(phases) }),
      ...(responseBody && { responseBody: responseBody.bind(phases) }),
    };
  }

  async #access(id: string, exchange: Exchange, access: NonNullable<PluginPhases["access"]>) {
    try {
      const before = routedParts(exchange);
      const answer = await this.#run(id, async () => access(exchange));
      const ran = { result: "ran", reason: changesText(before, routedParts(exchange)) } as const;
      this.#results.set(id, answer === undefined ? ran : { result: "answered", reason: reasonOf(answer) });
      return answer;
    } catch (error) {
      // The rest of the body does not arrive because a limit of an earlier plugin has rejected it.
      const isRejected = error instanceof BodyLostError;
      const reason = isRejected ? "the body is too long" : String(error).slice(0, MAX_REASON);
      this.#results.set(id, { result: isRejected ? "not reached" : "failed", reason });
      throw error;
    }
  }

  /** Does nothing once the result is unknown. */
  #connection(id: string, stream: RawConnection, run: NonNullable<PluginPhases["connection"]>) {
    if (this.#reason !== null) return undefined;
    this.#current = id;
    try {
      const refusal = run(stream);
      const result = refusal === undefined ? ("ran" as const) : ("answered" as const);
      if (this.#reason === null) this.#results.set(id, { result, reason: refusal?.reason ?? null });
      return refusal;
    } catch (error) {
      this.#results.set(id, { result: "failed", reason: String(error).slice(0, MAX_REASON) });
      throw error;
    }
  }

  /** Never settles once the result is unknown, because the effect of further phases could only be guessed. */
  async #run<Answer>(id: string, phase: () => Promise<Answer>): Promise<Answer> {
    if (this.#reason !== null) await never();
    this.#current = id;
    try {
      return await phase();
    } finally {
      if (this.#reason !== null) await never();
    }
  }

  #end(plugin: string, reason: string): undefined {
    if (this.#reason !== null) return;
    const name = this.#options.runtime.snapshot.plugins.get(plugin)?.name ?? plugin;
    this.#reason = `the plugin ${name} (${plugin}) decides, but an explanation cannot run it: ${reason}`;
    this.#results.set(plugin, { result: "unknown", reason });
    this.#unknown.resolve(this.#reason);
  }
}

function scopeOf(snapshot: Snapshot, id: string): ExplainedPlugin["scope"] {
  const plugin = snapshot.plugins.get(id);
  const targets = {
    service: plugin?.service && snapshot.services.get(plugin.service.id),
    route: plugin?.route && snapshot.routes.get(plugin.route.id),
    consumer: plugin?.consumer && snapshot.consumers.get(plugin.consumer.id),
    consumer_group: plugin?.consumer_group && snapshot.consumer_groups.get(plugin.consumer_group.id),
  };
  return Object.fromEntries(
    Object.entries(targets).flatMap(([kind, target]) => (target ? [[kind, idAndNameOf(target)]] : [])),
  );
}

/** Why the plugin closes its routes; null: it does not. Requests that earlier plugins let pass get this response. */
function closedReason(snapshot: Snapshot, id: string): string | null {
  const unavailable = snapshot.plugins.get(id)?._sluice?.unavailable;
  return unavailable === undefined ? null : `when it is reached, it answers 503: ${unavailable}`;
}

/** The parts of the forwarded request that decide where it goes. The explanation of the upstream shows them, too. */
const routedParts = ({ upstreamMethod, upstreamPath }: Exchange) => ({ method: upstreamMethod, path: upstreamPath });

type RoutedParts = ReturnType<typeof routedParts>;

/** The changes that the plugin made, as text; null: it changed none of these parts. */
function changesText(before: RoutedParts, now: RoutedParts): string | null {
  const changes = [
    ...(now.method === before.method ? [] : [`the method becomes ${now.method}`]),
    ...(now.path === before.path ? [] : [`the path becomes ${now.path}`]),
  ];
  return changes.length === 0 ? null : changes.join("; ").slice(0, MAX_REASON);
}

/** The names of the response headers that response-transformer adds; null: none. Values may be secrets. */
function headersText(snapshot: Snapshot, id: string): string | null {
  const { name, config } = snapshot.plugins.get(id) ?? {};
  if (name !== "response-transformer") return null;
  const { add } = Object(config) as { readonly add?: { readonly headers?: readonly string[] } };
  const names = (add?.headers ?? []).map((entry) => entry.split(":", 1)[0]);
  return names.length === 0 ? null : `adds response headers: ${names.join(", ")}`.slice(0, MAX_REASON);
}

/** As in the list of refused requests: the reason for the log, else the message for the client. */
const reasonOf = (answer: DirectResponse | undefined): string | null =>
  (answer?.reason ?? answer?.message)?.slice(0, MAX_REASON) ?? null;

/** The entities that the plugin is attached to: `service shop and consumer ann`. */
export const pluginScopeText = (scope: ExplainedPlugin["scope"]): string =>
  Object.entries(scope)
    .map(([kind, target]) => `${kind.replace("_", " ")} ${target.name ?? target.id}`)
    .join(" and ");

/** Whether the plugin would apply if it were enabled. Memberships in consumer groups are not looked up. */
const isInScope = (plugin: SnapshotPlugin, { route }: CompiledRoute, consumer: Consumer | null): boolean =>
  (plugin.route === null || plugin.route.id === route.id) &&
  (plugin.service === null || plugin.service.id === route.service?.id) &&
  (plugin.consumer === null || plugin.consumer.id === consumer?.id) &&
  plugin.consumer_group === null;
