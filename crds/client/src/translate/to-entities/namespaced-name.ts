/** The rule for names of entities to which resources of all namespaces refer by name. */
import type { EntityPart, TranslatorInput } from "./entity-part.ts";

/**
 * Only resources of the home namespace may have arbitrary names. The names of others begin with their namespace, so
 * that no tenant can take a name to which resources of another tenant refer.
 */
export function namespacedNameParts({
  own: { name },
  from: { namespace },
  options: { homeNamespace },
}: TranslatorInput): readonly EntityPart[] {
  if (namespace === homeNamespace || typeof name !== "string" || name.startsWith(`${namespace}.`)) return [];
  const message = `must begin with "${namespace}.": other names are allowed only in the namespace ${homeNamespace}`;
  return [{ violations: [{ path: ["spec", "name"], message, condition: "Accepted", reason: "NotAllowed" }] }];
}
