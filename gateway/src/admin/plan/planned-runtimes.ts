/**
 * The runtimes before and after planned writes, compiled in this process from the entities of the store. They serve no
 * requests: their plugins can neither count nor send anything, and every counter is at 0.
 */
import {
  adoptChange,
  type Change,
  type Collection,
  collections,
  type ExplainRequest,
  emptySnapshot,
  pluginNamed,
  type Snapshot,
  type SnapshotPlugin,
  toStoredEntity,
  vaultReferencesIn,
} from "@sluice/model";
import type { PluginDefinition } from "@sluice/plugin-sdk";
import type { ReasonToRefuse } from "../../balance/health-report.ts";
import { compile } from "../../compile/compile.ts";
import type { PluginTools, Runtime } from "../../compile/runtime.ts";
import { explainResult } from "../../explain/explain.ts";
import type { ExplainTools } from "../../explain/explain-tools.ts";
import { inertPluginTools } from "../../explain/inert-plugin-tools.ts";
import { defaultProxySettings } from "../../proxy/settings.ts";
import { sluiceVersion } from "../../settings/version.ts";
import type { EntityLists } from "../../stores/read-all.ts";
import { type AnswerDifference, answerDifferences, type ExplainedIn } from "./answer-differences.ts";
import { identityIn, type SampleIdentity } from "./sample-identity.ts";

export interface PlannedRuntime {
  readonly runtime: Runtime;
  /** @param identity Whose credentials the request has; null: it has none */
  explain(request: ExplainRequest, identity: SampleIdentity | null): Promise<ExplainedIn>;
}

export interface PlannedRuntimes {
  readonly before: PlannedRuntime;
  readonly after: PlannedRuntime;
  /** Ends the instances of plugins. */
  close(): void;
}

/** The entities that the writes put and remove. */
export interface EntityChanges {
  readonly put: EntityLists;
  readonly remove: Readonly<Partial<Record<Collection, readonly string[]>>>;
}

export interface PlannedRuntimesOptions {
  readonly entities: EntityLists;
  readonly changes: EntityChanges;
  readonly reasonToRefuse: ReasonToRefuse;
  /** Unix milliseconds, the same for all explanations. Default: now. */
  readonly now?: number;
}

export function plannedRuntimes(options: PlannedRuntimesOptions): PlannedRuntimes {
  const { entities, changes, reasonToRefuse, now = Date.now() } = options;
  const snapshots = {
    before: adoptChange(emptySnapshot, changeOf({ put: entities, remove: {} }), "before"),
    after: emptySnapshot,
  };
  snapshots.after = adoptChange(snapshots.before, changeOf(changes), "after");
  const inert = inertPluginTools(now);
  const known = inert.plugins;
  const used = [...snapshots.before.plugins.values(), ...snapshots.after.plugins.values()];
  const standIns = used.flatMap(({ name }) => {
    const facts = known.has(name) ? undefined : pluginNamed(name);
    return facts === undefined ? [] : [[name, { ...facts, phases: () => ({}) } as PluginDefinition] as const];
  });
  const tools: PluginTools = { plugins: new Map([...known, ...standIns]), services: inert.services };
  const before = compile(null, snapshots.before, tools);
  const after = compile(before, snapshots.after, tools);
  const whyUnknown = (plugin: SnapshotPlugin): string | null => {
    if (plugin._sluice?.unavailable !== undefined) return null;
    const facts = pluginNamed(plugin.name);
    if (!known.has(plugin.name)) return "only nodes have the code of this plugin";
    if (facts === undefined || vaultReferencesIn(facts.schema, plugin.config).length === 0) return null;
    return "its config refers to a vault, whose values only nodes read";
  };
  const planned = (runtime: Runtime): PlannedRuntime => ({
    runtime,
    async explain(request, identity) {
      const identityBy = (plugin: SnapshotPlugin) => identity && identityIn(runtime.snapshot, plugin, identity);
      const assumptions: ExplainTools["assumptions"] = { identityBy, whyUnknown };
      const settings = { ...defaultProxySettings, version: sluiceVersion };
      const explainTools = { ...tools, runtime, settings, reasonToRefuse, reachesGrpc: true, assumptions };
      return { runtime, result: await explainResult(request, explainTools) };
    },
  });
  return {
    before: planned(before),
    after: planned(after),
    close() {
      for (const { added } of [before.instancesSince(null), after.instancesSince(before)])
        for (const instance of added) instance.discard();
    },
  };
}

/** The differences between the explanations of a request before and after the writes, without random values. */
export async function differencesFor(
  request: ExplainRequest,
  identity: SampleIdentity | null,
  { before, after }: Pick<PlannedRuntimes, "before" | "after">,
): Promise<readonly AnswerDifference[]> {
  const [was, will] = [await before.explain(request, identity), await after.explain(request, identity)];
  const found = answerDifferences(was, will);
  if (found.length === 0) return found;
  const [randomBefore, randomAfter] = [
    answerDifferences(was, await before.explain(request, identity)),
    answerDifferences(will, await after.explain(request, identity)),
  ].map((differences) => new Set(differences.map(({ about }) => about)));
  return found.filter(({ about }) => !(randomBefore?.has(about) && randomAfter?.has(about)));
}

function changeOf({ put, remove }: EntityChanges): Change {
  const stored = collections.map((collection) => [
    collection,
    (put[collection] ?? []).map((entity) => toStoredEntity(collection, { ...closedIfUnknown(collection, entity) })),
  ]);
  return { put: Object.fromEntries(stored), remove };
}

/** As in a node that does not have the plugin: it closes its routes. */
function closedIfUnknown(
  collection: Collection,
  entity: Snapshot[Collection] extends ReadonlyMap<string, infer Each> ? Each : never,
) {
  const { name } = entity as { readonly name?: unknown };
  if (collection !== "plugins" || pluginNamed(name) !== undefined) return entity;
  return { ...entity, _sluice: { unavailable: `there is no plugin ${name}` } };
}
