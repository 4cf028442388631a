/** Whether a file that changes takes a plugin away that protects something, or a Route that may be protected. Pure. */
import { isDeepStrictEqual } from "node:util";
import { mayProtect } from "@sluice/model";
import { refKey } from "./content.ts";
import { refOf } from "./directory-view.ts";
import type { ParsedFile, ParsedResource } from "./parse-resources.ts";

/** The plugin in words, or that nothing is left; null: what protected goes on. */
export function lostProtection(before: ParsedFile, now: ParsedFile): string | null {
  if (before.resources.length > 0 && now.resources.length === 0) return "all that it held";
  const left = new Map(now.resources.map((placed) => [refKey(refOf(placed)), placed]));
  const lost = before.resources.find((placed) => {
    const after = left.get(refKey(refOf(placed)));
    return protects(placed) && !(after && protects(after) && isAlike(placed, after));
  });
  if (lost) return `the Plugin ${nameOf(lost)}`;
  const cut = before.resources.find(
    (placed) => placed.kind === "Route" && isCut(placed, left.get(refKey(refOf(placed)))),
  );
  return cut ? `requests from the Route ${nameOf(cut)}, which a Plugin of another file may protect` : null;
}

const nameOf = (placed: ParsedResource): string => `${refOf(placed).namespace}/${refOf(placed).name}`;

/** Members of a Route that say which requests it takes. */
const matching = ["paths", "hosts", "methods", "snis"] as const;

/** Whether the Route takes less because it is gone, or because one of its lists ends before its end. */
function isCut(was: ParsedResource, now: ParsedResource | undefined): boolean {
  if (!now) return true;
  return matching.some((name) => {
    const [list, other] = [was, now].map((placed) => specOf(placed)[name]);
    if (!Array.isArray(list) || !Array.isArray(other) || isDeepStrictEqual(list, other)) return false;
    const last = other.length - 1;
    const isStart = other.every((one, at) => (at < last ? one === list[at] : String(list[at]).startsWith(String(one))));
    return other.length > 0 && isStart;
  });
}

const specOf = ({ content }: ParsedResource): Readonly<Record<string, unknown>> => Object(content.spec ?? {});

const protects = (placed: ParsedResource): boolean => {
  const { enabled, plugin } = specOf(placed);
  return placed.kind === "Plugin" && enabled !== false && mayProtect(plugin);
};

/** It is the same plugin, and for the same requests; its config may be another. */
function isAlike(one: ParsedResource, other: ParsedResource): boolean {
  const scopeOf = (placed: ParsedResource) => {
    const { plugin, targetRefs, protocols, class: className } = specOf(placed);
    return { plugin, targetRefs, protocols, className };
  };
  return isDeepStrictEqual(scopeOf(one), scopeOf(other));
}
