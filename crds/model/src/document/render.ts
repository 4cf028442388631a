/** Renders a flat document as a readable YAML file that loads to the same entities. */

import { isRecord } from "@sluice/plugin-sdk";
import { stringify } from "yaml";
import type { Document } from "../document.ts";
import { collections } from "../entities/index.ts";

/**
 * The file has format 3.0, the lists in the order of the collections, and no endpoints. Entities keep their `_sluice`,
 * except for the hash of a key if the key itself is present. Without key and hash, a credential would not load; without
 * the namespaces in `_sluice`, it would be valid for more routes.
 */
export function renderDocument(document: Document): string {
  const lists = collections.flatMap((collection) => {
    const items = document[collection] ?? [];
    return items.length === 0 ? [] : [[collection, items.map(forPeople)]];
  });
  const data = { _format_version: "3.0", ...Object.fromEntries(lists) };
  // Strings are quoted so that YAML 1.1 parsers such as Kong's read the same values. Shared values are repeated.
  return stringify(data, { compat: "yaml-1.1", aliasDuplicateObjects: false, lineWidth: 0 });
}

function forPeople(item: unknown): unknown {
  if (!isRecord(item) || !isRecord(item._sluice)) return item;
  const { _sluice, ...members } = item;
  const { key_hash: _hash, ...withoutHash } = _sluice;
  const extras = typeof members.key === "string" ? withoutHash : _sluice;
  return Object.keys(extras).length === 0 ? members : { ...members, _sluice: extras };
}
