/** The name and the targets of a Plugin. */
import { type PluginName, type PluginSpec, plugins, type TargetRef, targetMembers } from "@sluice/model";
import { referencePart } from "../resolve-reference.ts";
import type { ResourceViolation } from "../translation.ts";
import { configPart } from "./config-from.ts";
import { type EntityPart, invalidField, type TranslatorInput } from "./entity-part.ts";

export const pluginParts = (input: TranslatorInput): readonly EntityPart[] => [
  namePart(input),
  ...targetParts(input),
  configPart(input),
  { violations: globalPluginViolations(input) },
];

/**
 * Includes unknown names, such as a misspelt one: routes that the plugin was meant to protect answer 503 under that
 * name.
 */
function namePart({ resource }: TranslatorInput): EntityPart {
  const name: unknown = resource.spec?.plugin;
  return { members: typeof name === "string" ? { name } : {}, sourcePaths: { name: ["spec", "plugin"] } };
}

/**
 * Resolves each valid target even if others are invalid: the routes that a faulty plugin was meant to protect must be
 * known. If none is valid, the result has one unresolvable target, because no target would mean all requests.
 *
 * The API server refuses two targets of one kind and targets that the plugin does not support; a directory does not.
 */
function targetParts({ from, resource, own, options }: TranslatorInput): readonly EntityPart[] {
  const given = givenTargets(resource);
  if (Array.isArray(given) && given.length === 0) return [];
  const found = new Set<string>();
  const parts = (Array.isArray(given) ? given : []).flatMap((ref: unknown, index): EntityPart[] => {
    if (!isTargetRef(ref)) return [];
    const { kind } = ref;
    const member = targetMembers[kind];
    const path = ["spec", "targetRefs", index];
    const violations: ResourceViolation[] = [];
    if (refuses((own as Partial<PluginSpec>).plugin, member))
      violations.push(invalidField([...path, "kind"], `${own.plugin} cannot be attached to a ${kind}`));
    if (found.has(member)) {
      violations.push(invalidField([...path, "kind"], `targetRefs already has a ${kind}: only one is allowed`));
      return [{ violations }];
    }
    found.add(member);
    return [
      { violations },
      { ...referencePart({ kind, member, ref }, { from, path }, options), sourcePaths: { [member]: path } },
    ];
  });
  const unresolvable = { members: { service: {} }, sourcePaths: { service: ["spec", "targetRefs"] } };
  return found.size > 0 ? parts : [...parts, unresolvable];
}

/** Kong's spelling of targets is a violation, but must not turn the plugin into a global one. */
const givenTargets = ({ spec }: TranslatorInput["resource"]): unknown => spec?.targetRefs ?? spec?.target_refs ?? [];

function isTargetRef(ref: unknown): ref is TargetRef {
  const { kind, name, namespace = "" } = Object(ref) as Record<string, unknown>;
  const isNamed = typeof name === "string" && typeof namespace === "string";
  return isNamed && typeof kind === "string" && Object.hasOwn(targetMembers, kind);
}

const refuses = (plugin: string | undefined, member: "service" | "route" | "consumer"): boolean =>
  plugin !== undefined && Object.hasOwn(plugins, plugin) && plugins[plugin as PluginName].refuses.includes(member);

/** A global plugin affects all namespaces, so only the home namespace may define one. */
function globalPluginViolations({ from, resource, options }: TranslatorInput): readonly ResourceViolation[] {
  const { homeNamespace } = options;
  const refs = givenTargets(resource);
  if (from.namespace === homeNamespace || !Array.isArray(refs) || refs.length > 0) return [];
  const message = `set targetRefs: a plugin for all requests is only allowed in the namespace ${homeNamespace}`;
  return [{ path: ["spec", "targetRefs"], message, condition: "Accepted", reason: "NotAllowed" }];
}
