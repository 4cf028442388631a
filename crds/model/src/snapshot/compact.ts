/**
 * The compact form of a snapshot's values, which is hashed and pushed: without members that are unset or have their
 * default. During an upgrade a node may lack members that a newer operator has. As long as no entity sets these
 * members, the node accepts the operator's documents and computes the same hash.
 */
import { hash } from "node:crypto";
import type { EndpointSection } from "../document.ts";
import { type Collection, entities } from "../entities/index.ts";
import { canonicalJson } from "../ids.ts";
import { entitySchemaOf } from "../plugins/index.ts";
import { withoutDefaults } from "../schema/without-defaults.ts";

/** A collection, the addresses of services or upstreams, or the listeners. */
export type Section = Collection | EndpointSection | "listeners";

export const isEntitySection = (section: Section): section is Collection => Object.hasOwn(entities, section);

/** A value of a section in its compact form, from which `checkEntity` restores an entity. */
export const compactValue = (section: Section, value: object): object =>
  isEntitySection(section) ? withoutDefaults(entitySchemaOf(section, value), given(section, value)) : value;

/** The value without a credential's `unavailable`: this process added it, and all nodes must compute the same hash. */
function given(section: Section, value: object): Readonly<Record<string, unknown>> {
  const { _sluice: extras, ...members } = value as Readonly<Record<string, unknown>>;
  if (section !== "plugin_credentials" || extras === undefined) return value as Readonly<Record<string, unknown>>;
  const { unavailable: _, ...kept } = extras as Readonly<Record<string, unknown>>;
  return { ...members, _sluice: kept };
}

const digests = new WeakMap<object, string>();

/**
 * Uses the digest of the pushed form for an entity whose plugin this process does not have. The process does not know
 * the plugin's defaults and answers 503 in the entity's scope, but its snapshot must have the same hash as the document
 * that the operator published.
 */
export function adoptDigest(stored: object, pushed: object): void {
  digests.set(stored, hash("sha256", canonicalJson(pushed)));
}

/** SHA-256 of the compact value's canonical JSON, in hex. Cached per object, which must therefore be frozen. */
export function digestOf(section: Section, value: object): string {
  let digest = digests.get(value);
  if (digest === undefined) {
    digest = hash("sha256", canonicalJson(compactValue(section, value)));
    digests.set(value, digest);
  }
  return digest;
}
