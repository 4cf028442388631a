/** Whether a file that changes takes a plugin away that protects something. Pure. */
import { isDeepStrictEqual } from "node:util";
import { mayProtect } from "@sluice/model";
import { keyOf } from "./content.ts";
import type { Parsed, Placed } from "./parse.ts";
import { refOf } from "./view.ts";

/** The plugin in words, or that nothing is left; null: what protected goes on. */
export function lostProtection(before: Parsed, now: Parsed): string | null {
  if (before.resources.length > 0 && now.resources.length === 0) return "all that it held";
  const left = new Map(now.resources.map((placed) => [keyOf(refOf(placed)), placed]));
  const lost = before.resources.find((placed) => {
    const after = left.get(keyOf(refOf(placed)));
    return protects(placed) && !(after && protects(after) && isAlike(placed, after));
  });
  return lost ? `the Plugin ${refOf(lost).namespace}/${refOf(lost).name}` : null;
}

const specOf = ({ content }: Placed): Readonly<Record<string, unknown>> => Object(content.spec ?? {});

const protects = (placed: Placed): boolean => {
  const { enabled, plugin } = specOf(placed);
  return placed.kind === "Plugin" && enabled !== false && mayProtect(plugin);
};

/** It is the same plugin, and for the same requests; its config may be another. */
function isAlike(one: Placed, other: Placed): boolean {
  const scopeOf = (placed: Placed) => {
    const { plugin, targetRefs, protocols, class: className } = specOf(placed);
    return { plugin, targetRefs, protocols, className };
  };
  return isDeepStrictEqual(scopeOf(one), scopeOf(other));
}
