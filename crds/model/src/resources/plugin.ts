/** The custom resource Plugin. */

import type { PluginFacts } from "@sluice/plugin-sdk";
import { builtInFacts } from "@sluice/plugins/schemas";
import type { Plugin } from "../entities/index.ts";
import { CONSUMER_OR_GROUP, PLUGIN_NAME, PLUGIN_NAME_LENGTH, refusedTargets } from "../plugins/index.ts";
import {
  type CommonSpec,
  type ConfigFrom,
  commonSpecMembers,
  configFrom,
  type NameRef,
  nameRef,
  specObject,
  stateColumns,
} from "./common-spec.ts";
import { type CelRule, type Derived, type KindFacts, specOf } from "./kind.ts";

/** Kinds to which a plugin may be attached, each with the member of the plugin entity that refers to it. */
export const targetMembers = {
  Service: "service",
  Route: "route",
  Consumer: "consumer",
  ConsumerGroup: "consumer_group",
} as const;
export type TargetKind = keyof typeof targetMembers;
const targetKinds = Object.keys(targetMembers) as readonly TargetKind[];

/**
 * Kinds of other APIs to which a plugin may be attached, each with its API group. The operator derives Routes from
 * such a resource, and attaches copies of the Plugin to them (Gateway API, GEP-713 "Metaresources and Policy
 * Attachment").
 */
export const foreignTargetGroups = {
  Ingress: "networking.k8s.io",
  HTTPRoute: "gateway.networking.k8s.io",
  GRPCRoute: "gateway.networking.k8s.io",
  Gateway: "gateway.networking.k8s.io",
} as const;
export type ForeignTargetKind = keyof typeof foreignTargetGroups;
const foreignKinds = Object.keys(foreignTargetGroups) as readonly ForeignTargetKind[];

export interface TargetRef extends NameRef {
  readonly kind: TargetKind | ForeignTargetKind;
  /** The API group of the kind. Default: that of the only kind with this name. */
  readonly group?: string;
}

export type PluginSpec = CommonSpec &
  Derived<Plugin, "name" | "service" | "route" | "consumer" | "consumer_group"> & {
    readonly plugin: string;
    readonly targetRefs?: readonly TargetRef[];
    readonly configFrom?: readonly ConfigFrom[];
  };

/** `a, b and c` */
const listOf = (names: readonly string[]): string => names.join(", ").replace(/, ([^,]*)$/, " and $1");

/** CEL rules that refuse targets, derived from the facts of the built-in plugins. */
const refusals = targetKinds.flatMap((kind) => {
  const refusing = (builtInFacts as readonly PluginFacts[])
    .filter((facts) => refusedTargets(facts).includes(targetMembers[kind]))
    .map(({ name }) => name);
  if (refusing.length === 0) return [];
  return {
    rule:
      `!(self.plugin in [${refusing.map((name) => `'${name}'`).join(", ")}]) || !has(self.targetRefs) || ` +
      `!self.targetRefs.exists(target, target.kind == '${kind}')`,
    message: `${listOf(refusing)} cannot be attached to a ${kind}`,
    fieldPath: ".targetRefs",
  };
});

const consumerOrGroup: CelRule = {
  rule:
    "!has(self.targetRefs) || !(self.targetRefs.exists(target, target.kind == 'Consumer') && " +
    "self.targetRefs.exists(target, target.kind == 'ConsumerGroup'))",
  message: CONSUMER_OR_GROUP,
  fieldPath: ".targetRefs",
};

const celList = (words: readonly string[]): string => `[${words.map((word) => `'${word}'`).join(", ")}]`;

const foreignTargets: readonly CelRule[] = [
  {
    rule:
      `!has(self.targetRefs) || self.targetRefs.filter(target, target.kind in ${celList(foreignKinds)}).size() == 0 || ` +
      `self.targetRefs.filter(target, !(target.kind in ['Consumer', 'ConsumerGroup'])).size() == 1`,
    message: `a target of the kind ${foreignKinds.slice(0, -1).join(", ")} or ${foreignKinds.at(-1)} can only be combined with a Consumer or a ConsumerGroup`,
    fieldPath: ".targetRefs",
  },
  {
    rule: `!has(self.targetRefs) || self.targetRefs.all(target, !(target.kind in ${celList(foreignKinds)}) || !has(target.__namespace__))`,
    message: `a target of the kind ${foreignKinds.slice(0, -1).join(", ")} or ${foreignKinds.at(-1)} must be in the namespace of the Plugin: remove namespace`,
    fieldPath: ".targetRefs",
  },
];

export const pluginKind: KindFacts = {
  collection: "plugins",
  shortName: "gwplugin",
  spec: specOf("plugins", {
    omit: ["name", ...Object.values(targetMembers), "config"],
    add: {
      ...commonSpecMembers(
        "Name from which the id is derived; unique across namespaces. Default: instanceName, else metadata.name " +
          "in Sluice's home namespace, <namespace>.<metadata.name> elsewhere.",
      ),
      plugin: {
        type: "string",
        description:
          "Name of the plugin. While the operator does not know a plugin of this name, the resource is not accepted, " +
          "and requests in its scope are answered with 503.",
        minLength: 1,
        maxLength: PLUGIN_NAME_LENGTH,
        pattern: PLUGIN_NAME.source,
      },
      targetRefs: {
        type: "array",
        description:
          "The resources that the plugin is attached to: at most one Service, one Route, and one Consumer or " +
          "ConsumerGroup. It acts on requests that match all of them. Instead of a Service or Route, the target may be an " +
          "Ingress, HTTPRoute, GRPCRoute or Gateway in the namespace of the Plugin. Without targets it acts on all " +
          "requests, which only Plugins in Sluice's home namespace may do.",
        maxItems: 3,
        listMapKeys: ["kind"],
        items: specObject("A resource.", ["kind", "name"], {
          kind: { type: "string", description: "Kind of the resource.", enum: [...targetKinds, ...foreignKinds] },
          group: {
            type: "string",
            description: "API group of the resource. Default: the group of the kind.",
            maxLength: 253,
          },
          ...nameRef("", "resource").properties,
        }),
      },
      config: {
        type: "object",
        description: "Configuration of the plugin, spelled as in Kong (snake_case); see the reference page of plugins.",
        open: true,
      },
      configFrom,
    },
    required: ["plugin"],
    cel: [...refusals, consumerOrGroup, ...foreignTargets],
  }),
  columns: [
    { name: "Plugin", jsonPath: ".spec.plugin", description: "Name of the plugin." },
    { name: "Target", jsonPath: ".spec.targetRefs[*].kind", description: "Kind of the first target." },
    { name: "Name", jsonPath: ".spec.targetRefs[*].name", description: "Name of the first target." },
    {
      name: "Enabled",
      jsonPath: ".spec.enabled",
      type: "boolean",
      description: "Whether the plugin is enabled.",
      priority: 1,
    },
    ...stateColumns,
  ],
};
