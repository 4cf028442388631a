/** Plugin -> plugin. */
import { type PluginName, type PluginSpec, plugins, type TargetRef, targetMembers } from "@sluice/model";
import { resolveReference } from "../resolve-reference.ts";
import type {
  Path,
  ReferencedResource,
  ResourceViolation,
  TranslatedEntity,
  TranslateOptions,
} from "../translation.ts";
import { configWithSecrets } from "./config-from.ts";
import { invalidField, type TranslatorInput } from "./translator-input.ts";

export function pluginEntity(reading: TranslatorInput, options: TranslateOptions): TranslatedEntity {
  const { identity, times, members, namespace } = reading;
  const spec = reading.own as Partial<PluginSpec>;
  const name = givenName(reading);
  const targets = targetsOf(reading, options);
  const config = configWithSecrets(Object(spec.config ?? {}), spec.configFrom ?? [], {
    from: { kind: identity.kind, namespace },
    options,
  });
  return {
    collection: "plugins",
    item: {
      ...times,
      ...members,
      ...targets.members,
      id: identity.id,
      ...(name !== undefined && { name }),
      config: config.value,
    },
    basePath: ["spec"],
    sourcePaths: { name: ["spec", "plugin"], ...targets.places },
    violations: [
      ...ownViolations(name, reading),
      ...targets.violations,
      ...config.violations,
      ...globalPluginViolations(reading, options.homeNamespace),
    ],
    references: targets.refs,
    ...(config.secretPaths.length > 0 && { secretPaths: config.secretPaths }),
  };
}

/**
 * Includes unknown names, such as a misspelt one: routes that the plugin was meant to protect answer 503 under that
 * name.
 */
function givenName({ resource }: TranslatorInput): string | undefined {
  const name: unknown = resource.spec?.plugin;
  return typeof name === "string" ? name : undefined;
}

/** If the name is a string, the check of the entity reports it better: it suggests the intended name. */
const ownViolations = (name: string | undefined, { violations }: TranslatorInput): readonly ResourceViolation[] =>
  name === undefined ? violations : violations.filter(({ path }) => path.join(".") !== "spec.plugin");

interface Targets {
  readonly members: Readonly<Record<string, { readonly id?: string }>>;
  readonly places: Readonly<Record<string, Path>>;
  readonly violations: readonly ResourceViolation[];
  readonly refs: readonly ReferencedResource[];
}

/**
 * Resolves each valid target even if others are invalid: the routes that a faulty plugin was meant to protect must be
 * known. If none is valid, the result has one unresolvable target, because no target would mean all requests.
 *
 * The API server refuses two targets of one kind and targets that the plugin does not support; a directory does not.
 */
function targetsOf({ namespace, resource, own, identity }: TranslatorInput, options: TranslateOptions): Targets {
  const given = givenTargets(resource);
  const members: Record<string, { readonly id?: string }> = {};
  const places: Record<string, Path> = {};
  const violations: ResourceViolation[] = [];
  const refs: ReferencedResource[] = [];
  let told = false;
  const from = { kind: identity.kind, namespace };
  for (const [index, ref] of (Array.isArray(given) ? given : []).entries()) {
    if (!isTargetRef(ref)) continue;
    const { kind } = ref;
    const member = targetMembers[kind];
    const place = ["spec", "targetRefs", index];
    if (refuses((own as Partial<PluginSpec>).plugin, member))
      violations.push(invalidField([...place, "kind"], `${own.plugin} cannot be attached to a ${kind}`));
    if (members[member]) {
      violations.push(invalidField([...place, "kind"], `targetRefs already has a ${kind}: only one is allowed`));
      continue;
    }
    const resolved = resolveReference(kind, ref, { from, path: place }, options);
    members[member] = resolved.reference;
    places[member] = place;
    violations.push(...resolved.violations);
    if (resolved.refersTo) refs.push(resolved.refersTo);
    told = true;
  }
  const untold = !told && !(Array.isArray(given) && given.length === 0);
  if (untold) return { members: { service: {} }, places: { service: ["spec", "targetRefs"] }, violations, refs };
  return { members, places, violations, refs };
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
function globalPluginViolations(
  { namespace, resource }: TranslatorInput,
  homeNamespace: string,
): readonly ResourceViolation[] {
  const refs = givenTargets(resource);
  if (namespace === homeNamespace || !Array.isArray(refs) || refs.length > 0) return [];
  const message = `set targetRefs: a plugin for all requests is only allowed in the namespace ${homeNamespace}`;
  return [{ path: ["spec", "targetRefs"], message, condition: "Accepted", reason: "NotAllowed" }];
}
