/** The name, the targets and the config of a Plugin. */
import {
  effectOfMissing,
  type ForeignTargetKind,
  foreignTargetGroups,
  missingGraphqlDocuments,
  type PluginSpec,
  pluginNamed,
  protocolMismatch,
  refusedTargets,
  type SecretRef,
  servedProtocols,
  type TargetKind,
  type TargetRef,
  targetMembers,
} from "@sluice/model";
import { crossNamespaceViolation, type ReferenceOrigin, referencePart } from "../resolve-reference.ts";
import { isManaged, readSecret } from "../secrets.ts";
import type { Path, ResourceViolation } from "../translation.ts";
import { type EntityPart, invalidField, type TranslatorInput } from "./entity-part.ts";

export const pluginParts = (input: TranslatorInput): readonly EntityPart[] => [
  namePart(input),
  ...targetParts(input),
  configPart(input, ["spec"]),
  { violations: globalPluginViolations(input) },
  { violations: documentsViolations(input) },
  { violations: protocolsViolations(input) },
];

/**
 * The name is included even if no plugin has it, for example if it is misspelt: a stand-in with that name answers 503
 * for the routes that the plugin was meant to protect.
 */
function namePart({ resource }: TranslatorInput): EntityPart {
  const name: unknown = resource.spec?.plugin;
  return { members: typeof name === "string" ? { name } : {}, sourcePaths: { name: ["spec", "plugin"] } };
}

/**
 * Resolves each valid target even if others are invalid: the routes that a faulty plugin was meant to protect must be
 * known. If targets are given and none is valid, the result has one unresolvable target, because no target would mean
 * all requests.
 *
 * The API server refuses two targets of one kind and targets that the plugin does not support; a directory does not.
 */
function targetParts({ from, resource, own, options }: TranslatorInput): readonly EntityPart[] {
  const given = givenTargets(resource);
  if (Array.isArray(given) && given.length === 0) return [];
  const found = new Set<string>();
  const parts = (Array.isArray(given) ? given : []).flatMap((ref: unknown, index): EntityPart[] => {
    const path = ["spec", "targetRefs", index];
    const foreign = foreignTargetOf(ref);
    if (foreign) {
      found.add("service");
      return [foreignTargetPart(foreign, { from, path, plugin: own.plugin ?? "plugin" })];
    }
    if (!isTargetRef(ref)) return [];
    const { kind } = ref;
    const member = targetMembers[kind];
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

/**
 * A target for which no Route has been derived. The operator replaces targets by the Routes that it derives from them
 * (`operator/src/derive`), so that a target that is left has none.
 */
function foreignTargetPart(
  { kind, name, namespace, group }: TargetRef & { readonly kind: ForeignTargetKind },
  { from, path, plugin }: ReferenceOrigin & { readonly plugin: unknown },
): EntityPart {
  const expected = foreignTargetGroups[kind];
  const violations: ResourceViolation[] = [
    ...(namespace === undefined || namespace === from.namespace
      ? []
      : [invalidField([...path, "namespace"], `the ${kind} must be in the namespace of the Plugin: remove namespace`)]),
    ...(group === undefined || group === expected ? [] : [invalidField([...path, "group"], `expected ${expected}`)]),
  ];
  const missing: ResourceViolation = {
    path: [...path, "name"],
    message: `the ${kind} ${name} of the namespace ${from.namespace} does not exist, is not served by this installation, or has no route without another ${plugin}`,
    condition: "ResolvedRefs",
    reason: "TargetNotFound",
  };
  return {
    members: { service: {} },
    sourcePaths: { service: path },
    violations: violations.length > 0 ? violations : [missing],
  };
}

/** The spelling `target_refs` is a violation, but must not turn the plugin into a global one. */
const givenTargets = ({ spec }: TranslatorInput["resource"]): unknown => spec?.targetRefs ?? spec?.target_refs ?? [];

const isNamed = (ref: unknown): ref is TargetRef => {
  const { kind, name, namespace = "" } = Object(ref) as Record<string, unknown>;
  return typeof name === "string" && typeof namespace === "string" && typeof kind === "string";
};

const isTargetRef = (ref: unknown): ref is TargetRef & { readonly kind: TargetKind } =>
  isNamed(ref) && Object.hasOwn(targetMembers, ref.kind);

/** The target if it is of a kind of another API. */
export const foreignTargetOf = (ref: unknown): (TargetRef & { readonly kind: ForeignTargetKind }) | undefined =>
  isNamed(ref) && Object.hasOwn(foreignTargetGroups, ref.kind)
    ? (ref as TargetRef & { readonly kind: ForeignTargetKind })
    : undefined;

const refuses = (plugin: string | undefined, member: (typeof targetMembers)[TargetKind]): boolean =>
  refusedTargets(pluginNamed(plugin) ?? {}).includes(member);

/**
 * A global plugin affects all namespaces, so only the home namespace may define one. A disabled plugin affects none:
 * routes of the Gateway API may use copies of it.
 */
function globalPluginViolations({ from, resource, options }: TranslatorInput): readonly ResourceViolation[] {
  const { homeNamespace } = options;
  const refs = givenTargets(resource);
  if (from.namespace === homeNamespace || !Array.isArray(refs) || refs.length > 0) return [];
  if (resource.spec?.enabled === false) return [];
  const message = `set targetRefs: a plugin for all requests is only allowed in the namespace ${homeNamespace}`;
  return [{ path: ["spec", "targetRefs"], message, condition: "Accepted", reason: "NotAllowed" }];
}

type Members = Readonly<Record<string, unknown>>;

/**
 * A config, with members from Secrets.
 *
 * @param base The path of the record with `config` and `configFrom`.
 */
export function configPart({ own, from, options }: Pick<TranslatorInput, "own" | "from" | "options">, base: Path) {
  const { config = {}, configFrom = [] } = own as Partial<PluginSpec>;
  let value: Members = Object(config);
  const secretPaths: Path[] = [];
  const hiddenPaths: Path[] = [];
  const violations: ResourceViolation[] = [];
  for (const [index, { path, secretRef }] of configFrom.entries()) {
    const place = [...base, "configFrom", index];
    const steps = path.split(".");
    if (options.audience === "admin" && !isShown(secretRef, { from, options })) {
      hiddenPaths.push(["config", ...steps]);
      continue;
    }
    const found = readSecret(secretRef, { from, path: [...place, "secretRef"] }, options);
    const written = "value" in found ? withMember(value, steps, found.value) : value;
    if (!("value" in found)) violations.push(found);
    else if (written) secretPaths.push(["config", ...steps]);
    else
      violations.push(
        invalidField([...place, "path"], `config already has a value at ${path} or at one of its parents`),
      );
    value = written ?? value;
  }
  return { members: { config: value }, secretPaths, hiddenPaths, violations };
}

/** Whether the admin listener shows the value of a Secret: it shows only values that were written through it. */
function isShown(
  { name, namespace }: SecretRef,
  { from, options }: Pick<TranslatorInput, "from" | "options">,
): boolean {
  if (namespace !== undefined && namespace !== from.namespace) return false;
  const secret = options.read("Secret", from.namespace, name);
  return secret !== undefined && isManaged(secret);
}

/** The config with the value; undefined when the member already has a value, or when a parent is not an object. */
function withMember(config: Members, [step, ...rest]: readonly string[], value: string): Members | undefined {
  if (step === undefined) return undefined;
  const before = Object.hasOwn(config, step) ? (config[step] ?? undefined) : undefined;
  if (rest.length === 0) return before === undefined ? { ...config, [step]: value } : undefined;
  if (before !== undefined && (typeof before !== "object" || Array.isArray(before))) return undefined;
  const inner = withMember((before as Members | undefined) ?? {}, rest, value);
  return inner && { ...config, [step]: inner };
}

/**
 * GraphQL documents that the config names and that do not exist. The Plugin is served nevertheless: it answers 503 until
 * they exist, and then needs no change.
 */
function documentsViolations({ own, options }: TranslatorInput): readonly ResourceViolation[] {
  const { plugin, config } = own as Partial<PluginSpec>;
  if (options.audience !== "nodes") return [];
  const exists = (name: string) => options.hasEntity?.("GraphQLDocuments", name) !== false;
  const missing = missingGraphqlDocuments({ name: plugin, config }, exists);
  if (missing === null) return [];
  const documents: readonly unknown[] = Object(Object(config).trusted_documents).documents;
  return missing.names.map((name): ResourceViolation => {
    const path = ["spec", "config", "trusted_documents", "documents", documents.indexOf(name)];
    const message = `there are no GraphQLDocuments with the name or id ${name}: ${effectOfMissing(missing.closes)}`;
    return { path, message, condition: "ResolvedRefs", reason: "GraphQLDocumentsNotFound", isPartial: true };
  });
}

/**
 * Protocols that match none of the Route or, without a Route, of the Service's Routes. The Plugin is served
 * nevertheless, because the Routes may change later. Copies for Routes that were derived from another resource are left
 * out: the resource may have other Routes, which match.
 */
function protocolsViolations({ from, own, resource, options }: TranslatorInput): readonly ResourceViolation[] {
  const { protocols = servedProtocols, enabled } = (resource.spec ?? {}) as Members;
  if (!Array.isArray(protocols)) return [];
  if (options.audience !== "nodes" || enabled === false || "derived" in resource) return [];
  const refs = givenTargets(resource);
  const targets = (Array.isArray(refs) ? refs : []).filter(isTargetRef);
  const target = targets.find(({ kind }) => kind === "Route") ?? targets.find(({ kind }) => kind === "Service");
  if (target === undefined) return [];
  const { kind, name, namespace = from.namespace } = target;
  if (crossNamespaceViolation({ kind, namespace, name }, { from, path: [] }, options)) return [];
  if (kind === "Service" && options.resolve(kind, namespace, name) === undefined) return [];
  const protocolsOf = kind === "Route" ? options.routeProtocols : options.serviceProtocols;
  const mismatches = (protocolsOf?.(namespace, name)?.split(";") ?? []).map((ofRoute) =>
    protocolMismatch({ name: own.plugin, protocols }, ofRoute.split(",")),
  );
  const [message] = mismatches;
  if (!message || mismatches.includes(null)) return [];
  const path = ["spec", "protocols"];
  return [{ path, message, condition: "ResolvedRefs", reason: "ProtocolMismatch", isPartial: true, isWarning: true }];
}
