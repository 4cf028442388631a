/** URLRewrite: another host name or path for the upstream. */
import { type PathModifier, pathModifierOf } from "./path-modifier.ts";

export interface Rewrite extends PathModifier {
  readonly hostname?: string;
}

export function rewriteOf(filter: unknown): Rewrite {
  const { hostname, path } = Object(filter) as { readonly hostname?: string; readonly path?: unknown };
  return { ...pathModifierOf(path), ...(hostname !== undefined && { hostname }) };
}
