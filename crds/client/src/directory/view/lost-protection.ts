/** Whether a changed file loses a protecting plugin, a Route that a plugin may protect, or a membership in a consumer
 * group through which plugins apply. Pure. */
import { isDeepStrictEqual } from "node:util";
import { mayProtect } from "@sluice/model";
import { refKey } from "../../keys.ts";
import { refOf } from "./directory-view.ts";
import type { ParsedFile, ParsedResource } from "./parse-resources.ts";

/** Describes the lost plugin, membership or Route, or the loss of all content; null: no protection is lost. */
export function lostProtection(before: ParsedFile, now: ParsedFile): string | null {
  if (before.resources.length > 0 && now.resources.length === 0) return "all of its resources";
  const left = new Map(now.resources.map((placed) => [refKey(refOf(placed)), placed]));
  const lost = before.resources.find((placed) => {
    const after = left.get(refKey(refOf(placed)));
    return protects(placed) && !(after && protects(after) && isAlike(placed, after));
  });
  if (lost) return `the Plugin ${nameOf(lost)}`;
  const leaving = before.resources.find((placed) => leavesGroups(placed, left.get(refKey(refOf(placed)))));
  if (leaving) return `members of consumer groups, by a change of the ${leaving.kind} ${nameOf(leaving)}`;
  const cut = before.resources.find(
    (placed) => placed.kind === "Route" && isCut(placed, left.get(refKey(refOf(placed)))),
  );
  return cut ? `matches of the Route ${nameOf(cut)}, which a Plugin in another file may protect` : null;
}

/**
 * Whether a Consumer has left a group, or a group is gone: the group's Plugins no longer apply. A Consumer that is gone
 * does not count, because it sends no requests.
 */
function leavesGroups(was: ParsedResource, now: ParsedResource | undefined): boolean {
  if (was.kind === "ConsumerGroup") return now === undefined;
  if (was.kind !== "Consumer" || now === undefined) return false;
  const [before, after] = [was, now].map((placed) => {
    const { consumerGroups } = specOf(placed);
    return (Array.isArray(consumerGroups) ? consumerGroups : []).map((entry) => JSON.stringify(namedIn(entry)));
  });
  return before?.some((group) => !after?.includes(group)) ?? false;
}

function namedIn(entry: unknown): readonly unknown[] {
  const { namespace, name } = Object(entry) as Readonly<Record<string, unknown>>;
  return [namespace, name];
}

const nameOf = (placed: ParsedResource): string => `${refOf(placed).namespace}/${refOf(placed).name}`;

/** Lists of a Route that match requests. */
const matching = ["paths", "hosts", "methods", "snis"] as const;

/** Whether the Route matches fewer requests because it is gone or one of its lists was truncated. */
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

/** Whether both are the same plugin for the same requests; the config may differ. */
function isAlike(one: ParsedResource, other: ParsedResource): boolean {
  const scopeOf = (placed: ParsedResource) => {
    const { plugin, targetRefs, protocols, class: className } = specOf(placed);
    return { plugin, targetRefs, protocols, className };
  };
  return isDeepStrictEqual(scopeOf(one), scopeOf(other));
}
