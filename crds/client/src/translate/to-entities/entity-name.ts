/** The member `name` of services and routes. */
import { qualifiedName } from "../identity.ts";
import type { Path, TranslateOptions } from "../translation.ts";
import type { TranslatorInput } from "./translator-input.ts";

interface EntityName {
  /** An empty `spec.name` means that the entity has no name. */
  readonly member: { readonly name: string | null };
  readonly places: { readonly name: Path };
}

export function entityName({ own, resource }: TranslatorInput, { homeNamespace }: TranslateOptions): EntityName {
  const given = typeof own.name === "string" ? own.name : undefined;
  return {
    member: { name: given === "" ? null : (given ?? qualifiedName(resource, homeNamespace)) },
    places: { name: given === undefined ? ["metadata", "name"] : ["spec", "name"] },
  };
}
