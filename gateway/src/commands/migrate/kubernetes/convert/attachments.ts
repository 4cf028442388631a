/** KongPlugins and KongClusterPlugins, attached by annotations, as Plugins: one for each target. */
import type { ManifestObject } from "@sluice/crds";
import { annotationField, type Conversion } from "./conversion.ts";
import { annotationsAt, type KongObjects, labelsAt, listOf, namespaceOf, nonEmptyText } from "./objects.ts";
import { type PluginConfig, readPluginConfig } from "./plugin-config.ts";

type Members = Readonly<Record<string, unknown>>;

const PLUGINS = "konghq.com/plugins";

interface Target {
  readonly id: string;
  readonly kind: "Route" | "Service" | "Consumer" | "ConsumerGroup";
  readonly name: string;
  readonly namespace: string;
}

/** A target, and the object whose annotation names the plugins. */
export interface AttachTo {
  readonly target: Target;
  readonly object: ManifestObject;
}

type TargetKind = Target["kind"];

const members = { Route: "route", Service: "service", Consumer: "consumer", ConsumerGroup: "consumer_group" } as const;

export class PluginConverter {
  readonly #objects: KongObjects;
  readonly #conversion: Conversion;
  readonly #targets = new Map<string, { readonly plugin: ManifestObject; readonly targets: Target[] }>();

  constructor(objects: KongObjects, conversion: Conversion) {
    this.#objects = objects;
    this.#conversion = conversion;
  }

  /** Attaches the plugins that the annotation of the object names. */
  attach({ target, object }: AttachTo): void {
    for (const text of (annotationsAt(object)[PLUGINS] ?? "").split(",")) {
      const [first = "", second] = text.split(":").map((part) => part.trim());
      if (first === "" && second === undefined) continue;
      const [namespace, name] = second === undefined ? [namespaceOf(object), first] : [first, second];
      const plugin =
        this.#objects.find("KongPlugin", namespace, name) ?? this.#objects.find("KongClusterPlugin", "", name);
      if (plugin) this.#attachTo(plugin, target);
      else this.#closeTarget(target, object, `${namespace}/${name}`);
    }
  }

  #attachTo(plugin: ManifestObject, target: Target): void {
    this.#conversion.objects.add(plugin);
    const key = `${plugin.kind} ${namespaceOf(plugin)}/${plugin.metadata.name}`;
    const { targets } = this.#targets.getOrInsertComputed(key, () => ({ plugin, targets: [] }));
    if (!targets.some(({ id, kind }) => id === target.id && kind === target.kind)) targets.push(target);
  }

  /** Kong serves the target without the plugin. Here the files may lack a plugin that exists: the target is closed. */
  #closeTarget({ kind, id, name, namespace }: Target, object: ManifestObject, plugin: string): void {
    this.#conversion.add(
      "plugins",
      { name: "unavailable-plugin", [members[kind]]: { id } },
      {
        object,
        paths: { name: annotationField(PLUGINS) },
        namespace,
        name: this.#conversion.nameFor("Plugin", namespace, `${name}-unavailable-plugin`),
        reason: `there is no KongPlugin ${plugin} and no KongClusterPlugin of this name among the objects: add it, or remove it from the annotation`,
      },
    );
  }

  /** Adds the Plugins of all attached and global plugins. Call after the last `attach`. */
  addPlugins(isOwn: (object: ManifestObject) => boolean): void {
    for (const { plugin, targets } of this.#targets.values()) this.#addAll(plugin, targets);
    for (const plugin of this.#objects.all("KongClusterPlugin")) {
      if (labelsAt(plugin).global !== "true" || !isOwn(plugin)) continue;
      this.#conversion.objects.add(plugin);
      this.#add(plugin, [], this.#conversion.homeNamespace, plugin.metadata.name);
    }
    for (const kind of ["KongPlugin", "KongClusterPlugin"] as const) {
      for (const plugin of this.#objects.all(kind)) {
        if (this.#conversion.objects.has(plugin)) continue;
        const isGlobal = kind === "KongClusterPlugin" && labelsAt(plugin).global === "true";
        const message = isGlobal
          ? "has the label global, which has no effect without the annotation kubernetes.io/ingress.class; not converted"
          : "is not attached to anything; not converted";
        this.#conversion.remark({ object: plugin, path: [] }, message);
      }
    }
  }

  /** Kong's controller combines consumers with routes and services; if there are no consumers, it combines groups. */
  #addAll(plugin: ManifestObject, targets: readonly Target[]): void {
    const of = (...kinds: readonly TargetKind[]) => targets.filter(({ kind }) => kinds.includes(kind));
    const identities = of("Consumer").length > 0 ? of("Consumer") : of("ConsumerGroup");
    const places = of("Service", "Route");
    if (of("Consumer").length > 0 && of("ConsumerGroup").length > 0) {
      const message = "is attached to consumers and to consumer groups; as in Kong, it does not act on the groups";
      this.#conversion.remark({ object: plugin, path: [] }, message);
    }
    const combinations =
      identities.length === 0
        ? places.map((place) => [place])
        : places.length === 0
          ? identities.map((identity) => [identity])
          : identities.flatMap((identity) => places.map((place) => [place, identity]));
    for (const combination of combinations) {
      const [first] = combination;
      if (!first) continue;
      const { name } = plugin.metadata;
      const suffix = combination.map((target) => target.name).join("-");
      this.#add(plugin, combination, first.namespace, combinations.length === 1 ? name : `${name}-${suffix}`);
    }
  }

  #add(plugin: ManifestObject, targets: readonly Target[], namespace: string, wanted: string): void {
    const conversion = this.#conversion;
    const config = readPluginConfig(plugin, { objects: this.#objects, namespace, conversion });
    const references = targets.map(({ kind, id }) => [members[kind], { id }] as const);
    const foreign = targets.filter((target) => target.namespace !== namespace);
    conversion.add(
      "plugins",
      { ...pluginMembers(plugin, config, wanted), ...Object.fromEntries(references) },
      {
        object: plugin,
        paths: pluginPaths,
        namespace,
        name: conversion.nameFor("Plugin", namespace, wanted),
        spec: {
          ...(config.configFrom.length > 0 && { configFrom: config.configFrom }),
          // References to another namespace are kept, but not added, when the resource is written: add them here.
          ...(foreign.length > 0 && {
            targetRefs: foreign.map((target) => ({
              kind: target.kind,
              name: target.name,
              namespace: target.namespace,
            })),
          }),
        },
        hidden: config.configFrom.map(({ path }) => ["config", ...path.split(".")]),
        ...(config.fault !== undefined && { reason: config.fault }),
      },
    );
    for (const target of foreign) grantReference(conversion, { from: namespace, to: target, object: plugin });
  }
}

const pluginPaths = {
  name: ["plugin"],
  config: ["config"],
  enabled: ["disabled"],
  protocols: ["protocols"],
  instance_name: ["instance_name"],
  ordering: ["ordering"],
  tags: annotationField("konghq.com/tags"),
};

function pluginMembers(plugin: ManifestObject, { config, fault }: PluginConfig, wanted: string): Members {
  const { plugin: name, disabled, protocols, ordering } = plugin;
  const instanceName = nonEmptyText(plugin.instance_name);
  const tags = (annotationsAt(plugin)["konghq.com/tags"] ?? "").split(",").map((tag) => tag.trim());
  const isSuffixed = wanted !== plugin.metadata.name;
  return {
    // A config that cannot be read may protect: a plugin that Sluice does not know answers 503.
    name: fault === undefined ? name : `unavailable-${name}`,
    config: fault === undefined ? config : {},
    ...(disabled === true && { enabled: false }),
    ...(listOf(protocols).length > 0 && { protocols }),
    ...(ordering !== undefined && ordering !== null && { ordering }),
    // Names of instances are unique. Kong's controller adds a hash to them.
    ...(instanceName !== undefined && {
      instance_name: isSuffixed ? `${instanceName}-${wanted.slice(plugin.metadata.name.length + 1)}` : instanceName,
    }),
    ...(tags.some((tag) => tag !== "") && { tags: tags.filter((tag) => tag !== "") }),
  };
}

interface Grant {
  readonly from: string;
  readonly to: Pick<Target, "kind" | "namespace">;
  readonly object: ManifestObject;
}

/** Writes a ReferenceGrant for the Plugins of a namespace. */
function grantReference(conversion: Conversion, { from, to, object }: Grant): void {
  const name = `plugins-of-${from}-for-${to.kind.toLowerCase()}s`;
  if (
    conversion.resources.some(
      ({ resource: { kind, metadata } }) =>
        kind === "ReferenceGrant" && metadata.name === name && metadata.namespace === to.namespace,
    )
  )
    return;
  conversion.addResource(
    pluginReferenceGrant({ name, namespace: to.namespace }, { kind: "Plugin", namespace: from }, to.kind),
    object,
  );
}

export const pluginReferenceGrant = (
  metadata: { readonly name: string; readonly namespace: string },
  from: { readonly kind: string; readonly namespace: string },
  to: string,
) => ({
  apiVersion: "gateway.networking.k8s.io/v1beta1",
  kind: "ReferenceGrant",
  metadata,
  spec: { from: [{ group: "sluice.dev", ...from }], to: [{ group: "sluice.dev", kind: to }] },
});
