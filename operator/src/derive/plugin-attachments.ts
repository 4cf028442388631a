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
  MAX_DERIVED,
  namespacedName,
  ownersOfListener,
  Relation,
  type Resource,
  refKey,
  resourceKey,
} from "@sluice/crds";
import type { ChangedResource } from "../watch/watch-stage.ts";
import { type DerivedChanges, recordChange } from "./deriver.ts";

export interface AttachmentChanges {
  /** Copies of the Plugins for further Routes, and Routes that are closed, or open again. */
  readonly changes: DerivedChanges;
  /** Plugins, each with a Route in place of its target, or as it is if there is no Route; undefined: it is gone. */
  readonly plugins: ReadonlyMap<string, Resource | undefined>;
}

/** `<kind>/<namespace>/<name>` */
type Target = string;

interface AttachableRoute {
  readonly route: DerivedResource;
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

/** The maximum number of attached Plugins of one source, counted for each of its Routes. */
const MAX_ATTACHED = MAX_DERIVED;

export function createPluginAttachments({ plugins, isOwn, homeNamespace }: PluginAttachmentsOptions) {
  /** The Plugins with targets, by `namespace/name`, like all keys of Plugins and Routes. */
  const attached = new Map<string, Resource>();
  const targets = new Relation<string, Target>();
  const routes = new Map<string, AttachableRoute>();
  /** Routes, and the targets by which Plugins can be attached to them: the source and its Gateways. */
  const routeTargets = new Relation<string, Target>();
  /** The Plugins that are derived together with a Route, and their Route. */
  const ownPlugins = new Relation<string, string>();
  /** The plugins of these Plugins. */
  const ownScopes = new Map<string, string>();
  /** Routes, and the Plugins that are attached to them. */
  const attachments = new Relation<string, string>();
  /** The Route that takes the place of a Plugin's target. */
  const firstRoutes = new Map<string, string>();
  /** The sources to whose Routes too many Plugins would be attached. */
  const overloaded = new Set<Target>();
  const changedPlugins = new Set<string>();
  const changedSources = new Set<Target>();
  const goneRoutes = new Set<string>();
  /** Changed Plugins that only filters of routes use. They are left out, because they would act on no request. */
  const templates = new Set<string>();

  /** The Plugins for a Route. */
  function attachmentsOf(key: string, { source, gateways }: AttachableRoute): ReadonlySet<string> {
    const chosen = new Set<string>();
    const taken = new Set([...ownPlugins.leftsOf(key)].map((own) => ownScopes.get(own)));
    for (const level of [[source], gateways]) {
      const names = new Set<string>();
      for (const plugin of level.flatMap((target) => [...targets.leftsOf(target)])) {
        const name = scopeOf(attached.get(plugin));
        if (taken.has(name)) continue;
        chosen.add(plugin);
        names.add(name);
      }
      for (const name of names) taken.add(name);
    }
    return chosen;
  }

  function markRoutes(keys: Iterable<string>): void {
    for (const key of keys) {
      const route = routes.get(key);
      if (route) changedSources.add(route.source);
    }
  }

  function updatePlugin(key: string): void {
    const plugin = plugins().get(key);
    const target = plugin && isOwn(plugin) ? targetOf(plugin) : undefined;
    const after = new Set(target === undefined ? [] : [target]);
    for (const one of targets.set(key, after).union(after)) markRoutes(routeTargets.leftsOf(one));
    if (plugin && target !== undefined) attached.set(key, plugin);
    else attached.delete(key);
  }

  function updateRoute(key: string, route: Resource | undefined): void {
    markRoutes([key]);
    const after = route && attachableRoute(route);
    routeTargets.set(key, new Set(after && [after.source, ...after.gateways]));
    if (after) {
      routes.set(key, after);
      goneRoutes.delete(key);
      markRoutes([key]);
    } else {
      routes.delete(key);
      goneRoutes.add(key);
    }
  }

  function updateOwnPlugin(key: string, plugin: Resource | undefined): void {
    const route = plugin && routeTargetOf(plugin);
    const after = new Set(route === undefined ? [] : [route]);
    markRoutes(ownPlugins.set(key, after).union(after));
    if (plugin && route !== undefined) ownScopes.set(key, scopeOf(plugin));
    else ownScopes.delete(key);
  }

  /** Decides about the changed Routes. Returns the Routes to which each changed Plugin is attached, or was. */
  function updateAttachments(changes: DerivedChanges): ReadonlyMap<string, Set<string>> {
    const changed = new Map<string, Set<string>>();
    const routesFor = (plugin: string) => changed.getOrInsertComputed(plugin, () => new Set<string>());
    for (const key of changedPlugins) for (const route of attachments.leftsOf(key)) routesFor(key).add(route);
    for (const key of changedPlugins) routesFor(key);
    const attach = (route: string, after: ReadonlySet<string>) => {
      for (const key of attachments.set(route, after).symmetricDifference(after)) routesFor(key).add(route);
    };
    for (const key of goneRoutes) attach(key, none);
    for (const source of changedSources) updateSource(source, attach, changes);
    goneRoutes.clear();
    changedPlugins.clear();
    changedSources.clear();
    return changed;
  }

  /** Closes the Routes of a source to which too many Plugins would be attached, because some of them may protect it. */
  function updateSource(
    source: Target,
    attach: (route: string, after: ReadonlySet<string>) => void,
    changes: DerivedChanges,
  ): void {
    const wanted = new Map<string, ReadonlySet<string>>();
    for (const key of [...routeTargets.leftsOf(source)].sort()) {
      const route = routes.get(key);
      if (route) wanted.set(key, attachmentsOf(key, route));
    }
    const size = wanted.values().reduce((sum, all) => sum + all.size, 0);
    const isOverloaded = size > MAX_ATTACHED;
    const wasOverloaded = overloaded.has(source);
    if (isOverloaded) overloaded.add(source);
    else overloaded.delete(source);
    let isFirst = true;
    for (const [key, all] of wanted) {
      // The Plugins stay on one Route, so that their conditions say whether they are valid.
      attach(key, isOverloaded && !isFirst ? none : all);
      const { route } = routes.get(key) ?? {};
      if (route && isOverloaded) recordChange(changes, "Route", key, closedRoute(route, { size, isFirst }));
      else if (route && wasOverloaded) recordChange(changes, "Route", key, route);
      isFirst = false;
    }
  }

  /** The same Route whatever the order of changes: the first of all, by name. */
  function firstRouteOf(plugin: string, changed: ReadonlySet<string>): string | undefined {
    const present = attachments.leftsOf(plugin);
    const known = firstRoutes.get(plugin);
    // Few of thousands of Routes change at a time.
    const candidates = known !== undefined && present.has(known) ? [known, ...changed] : present;
    let first: string | undefined;
    for (const route of candidates) if (present.has(route) && (first === undefined || route < first)) first = route;
    return first;
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
      for (const [key, concerned] of updateAttachments(changes)) {
        const plugin = attached.get(key);
        const present = attachments.leftsOf(key);
        const first = plugin && firstRouteOf(key, concerned);
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

const none: ReadonlySet<string> = new Set();

const refsOf = ({ spec }: Resource): readonly unknown[] => (Array.isArray(spec?.targetRefs) ? spec.targetRefs : []);

/** A disabled Plugin without targets. In the home namespace, it may be a global Plugin that is off for a while. */
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
  if (!isDerived(route)) return undefined;
  const { source, extras: { listeners = [] } = {} } = route.derived;
  const gateways = new Set(listeners.map((name) => `Gateway/${ownersOfListener(name).gateway}`));
  return { route, source: refKey(source), gateways: [...gateways] };
}

const isDerived = (resource: Resource): resource is DerivedResource => "derived" in resource;

/** The Route as one that answers 503. The first of its source has the reason for the status of the source. */
function closedRoute(
  route: DerivedResource,
  { size, isFirst }: { readonly size: number; readonly isFirst: boolean },
): DerivedResource {
  const message =
    `${size} Plugins would be derived, because each attached Plugin acts on every match and host: at most ` +
    `${MAX_ATTACHED} are allowed; attach fewer Plugins, or use several routes`;
  const { derived } = route;
  return {
    ...route,
    derived: {
      ...derived,
      extras: { unavailable: message, ...derived.extras },
      ...(isFirst && { fault: message }),
    },
  };
}

/** The spec with a Route in place of the target. */
function specFor({ metadata, spec }: Resource, route: string): Readonly<Record<string, unknown>> {
  const [namespace = "", name = ""] = route.split("/");
  const routeRef = { kind: "Route", name, ...(namespace !== metadata.namespace && { namespace }) };
  const targetRefs = refsOf({ spec } as Resource).map((ref) => (foreignTargetOf(ref) ? routeRef : ref));
  return { ...spec, targetRefs };
}

/** Which Routes a Gateway serves was decided when they were derived, so that no ReferenceGrant is needed. */
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
