/**
 * Limits the size of a resource before it is validated. The API server sends only what the CRDs' schemas allow, but
 * other clients of the webhook's port can send anything. Reporting hundreds of thousands of violations would block the
 * operator.
 * Pure.
 */
import type { Path } from "@sluice/crds";
import { configSizeMessage, type SpecNode } from "@sluice/model";

/** Maximum number of items of an array, or of members of an object, where the schema has no limit. */
const DEFAULT_MAX_ITEMS = 1000;

/** The path of the first value that exceeds a limit, with a message; undefined: everything may be validated. */
export function sizeViolation(node: SpecNode, value: unknown, path: Path = ["spec"]): ReturnType<typeof excess> {
  if (node.open) {
    const message = configSizeMessage(value);
    return message === undefined ? undefined : { path, message };
  }
  if (typeof value === "string") {
    const most = node.maxLength ?? DEFAULT_MAX_LENGTH;
    // JSON Schema counts code points; some take two UTF-16 units.
    return value.length > most ? excess([...value].length, most, { path, of: "characters" }) : undefined;
  }
  if (Array.isArray(value))
    return (
      excess(value.length, node.maxItems ?? DEFAULT_MAX_ITEMS, { path, of: "items" }) ??
      value
        .entries()
        .map(([index, item]) => sizeViolation(node.items ?? {}, item, [...path, index]))
        .find(Boolean)
    );
  if (typeof value !== "object" || value === null) return undefined;
  const names = Object.keys(value);
  const values = typeof node.additionalProperties === "object" ? node.additionalProperties : {};
  return (
    excess(names.length, node.maxProperties ?? DEFAULT_MAX_ITEMS, { path, of: "members" }) ??
    names
      .values()
      .map((name) => sizeViolation(memberOf(node, name) ?? values, Reflect.get(value, name), [...path, name]))
      .find(Boolean)
  );
}

/** Maximum length of a string where the schema has no limit. */
const DEFAULT_MAX_LENGTH = 4096;

const excess = (size: number, most: number, { path, of }: { readonly path: Path; readonly of: string }) =>
  size > most ? { path, message: `holds more than ${most} ${of}` } : undefined;

const memberOf = ({ properties }: SpecNode, name: string): SpecNode | undefined =>
  properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
