/**
 * Attaches Plugins to the Routes that are derived from their targets: Ingresses, routes of the Gateway API, and Gateways
 * (Gateway API, GEP-713). Among Plugins with the same plugin, those of the route's own filters or annotations take
 * precedence over those whose target is the route, and these over those whose target is a Gateway.
 */
import {
  type DerivedResource,
  derivedName,
  derivedResource,
  foreignTargetOf,
  namespacedName,
  type Resource,
  resourceKey,
} from "@sluice/crds";
import type { ChangedResource } from "../watch/watch-stage.ts";
import { type DerivedChanges, recordChange } from "./deriver.ts";

export interface AttachmentChanges {
  /** Copies of the Plugins for further Routes. */
  readonly changes: DerivedChanges;
  /** Plugins, each with a Route in place of its target, or as it is if there is no Route; undefined: it is gone. */
  readonly plugins: ReadonlyMap<string, Resource | undefined>;
}

/** `<kind>/<namespace>/<name>` */
type Target = string;

interface AttachedPlugin {
  readonly plugin: Resource;
  readonly target: Target;
}

interface AttachableRoute {
  readonly source: Target;
  readonly gateways: readonly Target[];
}

export interface PluginAttachmentsOptions {
  /** The Plugins of the cluster. */
  readonly plugins: () => ReadonlyMap<string, Resource>;
  /** Whether a Plugin is of the class of the installation. */
  readonly isOwn: (plugin: Resource) => boolean;
  readonly homeNamespace: string;
}

export function createPluginAttachments({ plugins, isOwn, homeNamespace }: PluginAttachmentsOptions) {
  /** By `namespace/name`, like all maps with keys of Plugins and Routes. */
  const attached = new Map<string, AttachedPlugin>();
  const pluginsOf = new MapOfSets();
  const routes = new Map<string, AttachableRoute>();
  const routesOf = new MapOfSets();
  /** The names of the plugins that are derived together with a Route, by the keys of their Plugins. */
  const ownPlugins = new Map<string, Map<string, string>>();
  /** The Route of a derived Plugin. */
  const routeOfPlugin = new Map<string, string>();
  const pluginsOn = new MapOfSets();
  const routesWith = new MapOfSets();
  /** The Route that takes the place of a Plugin's target. */
  const firstRoutes = new Map<string, string>();
  const changedPlugins = new Set<string>();
  const changedRoutes = new Set<string>();
  /** Changed Plugins that only filters of routes use. They are left out, because they would act on no request. */
  const templates = new Set<string>();

  /** The Plugins for a Route. */
  function attachmentsOf(route: string): ReadonlySet<string> {
    const { source, gateways } = routes.get(route) ?? { source: "", gateways: [] };
    const chosen = new Set<string>();
    const taken = new Set(ownPlugins.get(route)?.values());
    for (const targets of [[source], gateways]) {
      const keys = targets.flatMap((target) => [...pluginsOf.get(target)]);
      const names = new Set<string>();
      for (const key of keys) {
        const name = scopeOf(attached.get(key)?.plugin);
        if (taken.has(name)) continue;
        chosen.add(key);
        names.add(name);
      }
      for (const name of names) taken.add(name);
    }
    return chosen;
  }

  function updatePlugin(key: string): void {
    const plugin = plugins().get(key);
    const target = plugin && isOwn(plugin) ? targetOf(plugin) : undefined;
    const before = attached.get(key);
    for (const one of new Set([before?.target, target]))
      for (const route of one === undefined ? [] : routesOf.get(one)) changedRoutes.add(route);
    if (before) pluginsOf.delete(before.target, key);
    attached.delete(key);
    if (!plugin || target === undefined) return;
    attached.set(key, { plugin, target });
    pluginsOf.add(target, key);
  }

  function updateRoute(key: string, route: Resource | undefined): void {
    changedRoutes.add(key);
    const before = routes.get(key);
    const after = route && attachableRoute(route);
    for (const target of before ? [before.source, ...before.gateways] : []) routesOf.delete(target, key);
    for (const target of after ? [after.source, ...after.gateways] : []) routesOf.add(target, key);
    if (after) routes.set(key, after);
    else routes.delete(key);
  }

  function updateOwnPlugin(key: string, plugin: Resource | undefined): void {
    const before = routeOfPlugin.get(key);
    const after = plugin && routeTargetOf(plugin);
    if (before !== undefined) {
      ownPlugins.get(before)?.delete(key);
      if (ownPlugins.get(before)?.size === 0) ownPlugins.delete(before);
      changedRoutes.add(before);
    }
    if (plugin && after !== undefined) {
      const names = ownPlugins.get(after) ?? new Map<string, string>();
      ownPlugins.set(after, names.set(key, scopeOf(plugin)));
      routeOfPlugin.set(key, after);
      changedRoutes.add(after);
    } else routeOfPlugin.delete(key);
  }

  /** The Routes on which a Plugin is, or was before. */
  function takeChanges(): ReadonlyMap<string, Set<string>> {
    const changed = new Map<string, Set<string>>();
    const routesFor = (key: string) => changed.getOrInsertComputed(key, () => new Set<string>());
    for (const key of changedPlugins) for (const route of routesWith.get(key)) routesFor(key).add(route);
    for (const key of changedPlugins) routesFor(key);
    for (const route of changedRoutes) {
      const [before, after] = [new Set(pluginsOn.get(route)), attachmentsOf(route)];
      for (const key of before.symmetricDifference(after)) routesFor(key).add(route);
      for (const key of before.difference(after)) {
        pluginsOn.delete(route, key);
        routesWith.delete(key, route);
      }
      for (const key of after) {
        pluginsOn.add(route, key);
        routesWith.add(key, route);
      }
    }
    changedPlugins.clear();
    changedRoutes.clear();
    return changed;
  }

  return {
    /** Records a change of a Plugin of the cluster. */
    observe({ kind, key }: ChangedResource): void {
      if (kind !== "Plugin") return;
      if (isTemplate(plugins().get(key), homeNamespace)) templates.add(key);
      if (attached.has(key) || targetOf(plugins().get(key)) !== undefined) changedPlugins.add(key);
    },
    /** Records changes of derived resources. */
    observeDerived(changes: DerivedChanges): void {
      for (const [key, plugin] of changes.get("Plugin") ?? []) updateOwnPlugin(key, plugin);
      for (const [key, route] of changes.get("Route") ?? []) updateRoute(key, route);
    },
    derive(): AttachmentChanges {
      for (const key of changedPlugins) updatePlugin(key);
      const changes: DerivedChanges = new Map();
      const replaced = new Map<string, Resource | undefined>();
      for (const [key, concerned] of takeChanges()) {
        const { plugin } = attached.get(key) ?? {};
        const present = routesWith.get(key);
        // The same Route whatever the order of changes.
        const first = plugin && [...present].sort()[0];
        for (const route of concerned.union(new Set([firstRoutes.get(key), first]))) {
          if (route === undefined) continue;
          const isCopied = plugin && present.has(route) && route !== first;
          recordChange(changes, "Plugin", copyKey(key, route), isCopied ? copyFor(plugin, route) : undefined);
        }
        if (first === undefined) firstRoutes.delete(key);
        else firstRoutes.set(key, first);
        replaced.set(key, plugin && first !== undefined ? withRoute(plugin, first) : plugins().get(key));
      }
      for (const key of templates) replaced.set(key, undefined);
      templates.clear();
      return { changes, plugins: replaced };
    },
  };
}

class MapOfSets {
  readonly #sets = new Map<string, Set<string>>();

  get(key: string): ReadonlySet<string> {
    return this.#sets.get(key) ?? none;
  }

  add(key: string, value: string): void {
    this.#sets.getOrInsertComputed(key, () => new Set()).add(value);
  }

  delete(key: string, value: string): void {
    const values = this.#sets.get(key);
    values?.delete(value);
    if (values?.size === 0) this.#sets.delete(key);
  }
}

const none: ReadonlySet<string> = new Set();

const refsOf = ({ spec }: Resource): readonly unknown[] => (Array.isArray(spec?.targetRefs) ? spec.targetRefs : []);

/** A Plugin for all requests that is disabled. In the home namespace, it may only be switched off for a while. */
const isTemplate = (plugin: Resource | undefined, homeNamespace: string): boolean =>
  plugin?.spec?.enabled === false && refsOf(plugin).length === 0 && plugin.metadata.namespace !== homeNamespace;

/** The target that has to be replaced by Routes. */
function targetOf(plugin: Resource | undefined): Target | undefined {
  const [target] = plugin ? refsOf(plugin).flatMap((ref) => foreignTargetOf(ref) ?? []) : [];
  if (!plugin || !target) return undefined;
  const { namespace } = plugin.metadata;
  // Another namespace is a violation.
  if (target.namespace !== undefined && target.namespace !== namespace) return undefined;
  return `${target.kind}/${namespacedName(namespace, target.name)}`;
}

/** The plugin, with the consumer or consumer group for which it acts. */
function scopeOf(plugin: Resource | undefined): string {
  const others = plugin ? refsOf(plugin).filter((ref) => /^Consumer/.test(Object(ref).kind)) : [];
  return [plugin?.spec?.plugin, ...others.map((ref) => `${Object(ref).kind}/${Object(ref).name}`)].join(" ");
}

function routeTargetOf(plugin: Resource): string | undefined {
  const ref = Object(refsOf(plugin)[0]) as { readonly kind?: unknown; readonly name?: unknown };
  return ref.kind === "Route" ? namespacedName(plugin.metadata.namespace, String(ref.name)) : undefined;
}

/** Undefined: the Route was not derived. */
function attachableRoute(route: Resource): AttachableRoute | undefined {
  const { derived } = route as Partial<DerivedResource>;
  if (!derived) return undefined;
  const { source, extras: { listeners = [] } = {} } = derived;
  const gateways = new Set(listeners.map((name) => `Gateway/${name.slice(0, name.lastIndexOf("/"))}`));
  return { source: `${source.kind}/${namespacedName(source.namespace, source.name)}`, gateways: [...gateways] };
}

/** The spec with a Route in place of the target. */
function specFor({ metadata, spec }: Resource, route: string): Readonly<Record<string, unknown>> {
  const [namespace = "", name = ""] = route.split("/");
  const routeRef = { kind: "Route", name, ...(namespace !== metadata.namespace && { namespace }) };
  const targetRefs = refsOf({ spec } as Resource).map((ref) => (foreignTargetOf(ref) ? routeRef : ref));
  return { ...spec, targetRefs };
}

/** Which Routes a Gateway serves has been decided when they were derived, so that no ReferenceGrant is needed. */
const derivedFor = (route: string) => ({
  checkedReferences: ["Route"] as const,
  version: route,
  sourcePaths: {},
});

function withRoute(plugin: Resource, route: string): DerivedResource {
  const { namespace, name } = plugin.metadata;
  const source = { kind: "Plugin", namespace, name } as const;
  return { ...plugin, spec: specFor(plugin, route), derived: { ...derivedFor(route), source } };
}

const copyKey = (plugin: string, route: string): string => {
  const [namespace = "", name = ""] = plugin.split("/");
  return namespacedName(namespace, derivedName("plugin", name, ...route.split("/")));
};

function copyFor(plugin: Resource, route: string): DerivedResource {
  const { name: _, id: __, instanceName: ___, ...spec } = specFor(plugin, route);
  const name = copyKey(resourceKey(plugin), route).split("/")[1] ?? "";
  return derivedResource(plugin, { kind: "Plugin", name, spec, derived: derivedFor(route) });
}
