/**
 * What is too much to look at. The API server asks about what its schemas let through; others who reach the port can send
 * anything, and a check that names every fault of hundreds of thousands would keep the operator from its work. Pure.
 */
import type { Path } from "@sluice/crds";
import { excessOf, type SpecNode } from "@sluice/model";

/** Items and members where the schema does not say how many. */
const MAX_OPEN = 1000;

/** The first place that holds more than its schema allows; undefined: all may be looked at. */
export function beyondBounds(node: SpecNode, value: unknown, path: Path = ["spec"]): Excess | undefined {
  if (node.open) {
    const message = excessOf(value);
    return message === undefined ? undefined : { path, message };
  }
  if (typeof value === "string") {
    const most = node.maxLength ?? MAX_TEXT;
    // JSON Schema counts code points, of which some are two units of a text.
    return value.length > most ? excess([...value].length, most, { path, of: "characters" }) : undefined;
  }
  if (Array.isArray(value))
    return (
      excess(value.length, node.maxItems ?? MAX_OPEN, { path, of: "items" }) ??
      first(value, (item, index) => beyondBounds(node.items ?? {}, item, [...path, index]))
    );
  if (typeof value !== "object" || value === null) return undefined;
  const names = Object.keys(value);
  const values = typeof node.additionalProperties === "object" ? node.additionalProperties : {};
  return (
    excess(names.length, node.maxProperties ?? MAX_OPEN, { path, of: "members" }) ??
    first(names, (name) => beyondBounds(memberOf(node, name) ?? values, Reflect.get(value, name), [...path, name]))
  );
}

export interface Excess {
  readonly path: Path;
  /** Such as `holds more than 64 items`. */
  readonly message: string;
}

/** Where a schema says nothing. */
const MAX_TEXT = 4096;

const excess = (size: number, most: number, { path, of }: { readonly path: Path; readonly of: string }) =>
  size > most ? { path, message: `holds more than ${most} ${of}` } : undefined;

function first<Item>(items: readonly Item[], look: (item: Item, index: number) => Excess | undefined) {
  for (const [index, item] of items.entries()) {
    const found = look(item, index);
    if (found) return found;
  }
  return undefined;
}

const memberOf = ({ properties }: SpecNode, name: string): SpecNode | undefined =>
  properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
