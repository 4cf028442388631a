/** Sluice's own members of entities, which Kong's format does not have: they are under `_sluice` (document.ts). */
import type { CredentialExtras, PluginExtras, RouteExtras } from "../document.ts";
import type { Collection } from "../entities/index.ts";
import { array, record, text } from "../schema/member.ts";
import { type SchemaNode, schemaNode } from "../schema/node.ts";
import { isRecord, memberSchemaOf } from "../schema/walk.ts";
import type { Violation } from "../violation.ts";
import { validate } from "./validate.ts";

/** The members allowed under an entity's `_sluice`; other collections have none. */
export interface Extras {
  readonly routes: RouteExtras;
  readonly plugins: PluginExtras;
  readonly keyauth_credentials: CredentialExtras;
}

const reason = text({ description: "Why requests are answered 503.", maxLength: 1024 });
const namespace = text({ description: "A namespace of the cluster.", maxLength: 253 });
const description = "Facts of Sluice's own.";

const schemas: { readonly [Name in Collection]?: SchemaNode } = {
  routes: schemaNode(record({ namespace, unavailable: reason }, { description })),
  plugins: schemaNode(record({ unavailable: reason }, { description })),
  keyauth_credentials: schemaNode(
    record(
      {
        key_hash: text({ description: "SHA-256 of the key.", rule: "sha256" }),
        namespaces: array(namespace, { description: "Where the key opens routes.", maxItems: 1024 }),
      },
      { description },
    ),
  ),
};

export interface CheckedExtras {
  readonly extras: (CredentialExtras & PluginExtras) | undefined;
  readonly violations: readonly Violation[];
}

/** Unlike members of entities, these may be absent, because only Sluice reads them. */
export function checkExtras(collection: Collection, raw: unknown): CheckedExtras {
  if (raw === undefined || raw === null) return { extras: undefined, violations: [] };
  const schema = schemas[collection];
  if (schema === undefined) return faulty([{ path: [], message: "unknown field" }]);
  if (!isRecord(raw)) return faulty([{ path: [], message: "expected a record" }]);
  const given = Object.entries(raw).filter(([, value]) => value !== null && value !== undefined);
  const violations = given.flatMap(([name, value]) => {
    const member = memberSchemaOf(schema, name);
    if (member === undefined) return [{ path: [name], message: "unknown field" }];
    return validate(member, value).map(({ path, message }) => ({ path: [name, ...path], message }));
  });
  return violations.length > 0 ? faulty(violations) : { extras: Object.fromEntries(given), violations };
}

const faulty = (violations: readonly Violation[]): CheckedExtras => ({
  extras: undefined,
  violations: violations.map((violation) => ({ ...violation, path: ["_sluice", ...violation.path] })),
});
