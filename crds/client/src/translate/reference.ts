/** References to resources of ours, by their name in the same namespace. */
import type { ResourceKind } from "@sluice/model";
import type { Path, ResourceViolation, TranslateOptions } from "./translation.ts";

interface Target {
  readonly kind: ResourceKind;
  readonly namespace: string;
  readonly name: string;
}

export interface ResolvedReference {
  /** `{}` when nothing was found: no check lets it through, so that a lost target never widens what an entity is for. */
  readonly reference: { readonly id?: string };
  readonly violations: readonly ResourceViolation[];
}

/** @param path Where the name stands. */
export function resolveReference(target: Target, path: Path, { resolve }: TranslateOptions): ResolvedReference {
  const { kind, namespace, name } = target;
  const id = resolve(kind, namespace, name);
  if (id !== undefined) return { reference: { id }, violations: [] };
  const message = `there is no ${kind} ${name} in the namespace ${namespace}`;
  return { reference: {}, violations: [{ path, message, condition: "ResolvedRefs", reason: `${kind}NotFound` }] };
}
