/**
 * Validates a resource before it is stored. Pure: it reads only the resource. Any client that reaches the webhook can
 * call it, so its responses must not reveal other resources. References are checked later, when the operator translates
 * the stored resource, and their errors are reported in its conditions.
 */
import { isDeepStrictEqual } from "node:util";
import {
  checkParameters,
  type Path,
  type Resource,
  sluiceKindOf,
  type TranslationLookups,
  translateToEntities,
} from "@sluice/crds";
import {
  apiVersion,
  insteadOfPlugin,
  kindFacts,
  PLUGIN_NAME,
  parameterKinds,
  pluginNamed,
  pluginNames,
  suggestionFor,
  type Violation,
} from "@sluice/model";
import { ineffectiveMembers } from "./ineffective-members.ts";
import { sizeViolation } from "./size-limits.ts";

/** Referenced resources, Secrets and grants may be created later. */
const allReferencesResolve: TranslationLookups = {
  resolve: () => "00000000-0000-4000-8000-000000000000",
  read: () => undefined,
  isReferenceAllowed: () => true,
  namespacesOpenTo: () => [],
};

/**
 * Returns the violations that would keep the resource from being served. If there are none, it also returns warnings:
 * one sentence for each member that would be stored without effect, and one for each plugin that the operator does not
 * have.
 *
 * @throws TypeError for a resource that is not a custom resource of Sluice.
 */
export function validateResource(resource: Resource, homeNamespace: string) {
  if (isParameters(resource)) return { violations: parametersViolations(resource), warnings: [] };
  const kind = sluiceKindOf(resource);
  const excess = kind && sizeViolation(kindFacts[kind].spec, resource.spec);
  if (excess) return { violations: [{ ...excess, condition: "Accepted", reason: "Invalid" }] as const, warnings: [] };
  const later = pathsFromSecrets(resource);
  const violations = translateToEntities(resource, { homeNamespace, audience: "nodes", ...allReferencesResolve })
    .flatMap((translated) => translated.violations)
    .filter(({ condition, path }) => condition === "Accepted" && !later.some((place) => pathsOverlap(place, path)));
  const unknown = unknownPlugins(resource);
  // A plugin may be installed after the resources that name it are stored. Until then a condition reports it missing.
  const refused = violations.filter(({ path }) => !unknown.some((one) => isDeepStrictEqual(one.path, path)));
  if (refused.length > 0) return { violations: refused, warnings: [] };
  return { violations: [], warnings: [...unknown.map(({ warning }) => warning), ...ineffectiveMembers(resource)] };
}

/** Whether the resource is a GatewayParameters, which is validated without a translation. */
export const isParameters = (resource: Pick<Resource, "apiVersion" | "kind">): boolean =>
  resource.apiVersion === apiVersion && Object.hasOwn(parameterKinds, resource.kind);

function parametersViolations({ spec }: Resource): readonly Violation[] {
  const checked = checkParameters(spec);
  return "value" in checked
    ? []
    : checked.violations.map(({ path, message }) => ({ path: ["spec", ...path], message }));
}

/** The places where the resource names plugins that the operator does not have, each with a warning. */
function unknownPlugins({ kind, spec }: Resource): readonly { readonly path: Path; readonly warning: string }[] {
  const named = (path: Path, name: unknown, effect: string) => {
    if (typeof name !== "string" || !PLUGIN_NAME.test(name) || pluginNamed(name) !== undefined) return [];
    const instead = insteadOfPlugin(name);
    const advice = instead === undefined ? suggestionFor(name, pluginNames()) || "." : `: ${instead}.`;
    const where = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
    const warning = `${where.slice(1)}: plugin '${name}' not enabled${advice} Until the operator has this plugin (SLUICE_PLUGINS), ${effect}`;
    return [{ path, warning }];
  };
  if (kind === "Plugin") return named(["spec", "plugin"], spec?.plugin, "requests in its scope are answered with 503");
  if (kind !== "Consumer") return [];
  return listOf(spec?.pluginCredentials).flatMap((entry, index) =>
    named(["spec", "pluginCredentials", index, "plugin"], Object(entry).plugin, "the credential is left out"),
  );
}

/**
 * Paths of the members of a config that come from Secrets: their values, and everything that depends on them, are not
 * known yet.
 */
const pathsFromSecrets = ({ spec }: Resource): readonly Path[] => [
  ...configPathsFromSecrets(spec, ["spec"]),
  ...listOf(spec?.pluginCredentials).flatMap((entry, index) =>
    configPathsFromSecrets(entry, ["spec", "pluginCredentials", index]),
  ),
];

const configPathsFromSecrets = (holder: unknown, base: Path): readonly Path[] =>
  listOf(Object(holder).configFrom).flatMap((source) => {
    const { path } = Object(source) as { readonly path?: unknown };
    return typeof path === "string" ? [[...base, "config", ...path.split(".")]] : [];
  });

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Whether the paths are equal or one contains the other. */
const pathsOverlap = (one: Path, other: Path): boolean =>
  [...Array(Math.min(one.length, other.length)).keys()].every((step) => one[step] === other[step]);
