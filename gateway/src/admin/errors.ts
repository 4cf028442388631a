/** What the admin listener refuses, in Kong's bodies (kong-contract 1.1 and 1.5). */
import { type Collection, schemaViolation, type Violation } from "@sluice/model";
import type { WriteFault } from "../stores/store.ts";
import type { Attempt } from "./call.ts";
import { luaTable } from "./lua.ts";

export type Body = Readonly<Record<string, unknown>>;

/** A request that cannot be answered as asked. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, body: Body, headers: Readonly<Record<string, string>> = {}) {
    super(typeof body.message === "string" ? body.message : `status ${status}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

const plain = (status: number, message: string) => new HttpError(status, { message });

export const badRequest = (message: string) => plain(400, message);
export const forbidden = (message: string) => plain(403, message);
export const notFound = () => plain(404, "Not found");
export const serverNameNotFound = () => plain(404, "SNI not found");
export const preconditionFailed = (message: string) => plain(412, message);
export const methodNotAllowed = () => plain(405, "Method not allowed");
export const tooLarge = () => plain(413, "Payload too large");
export const unsupportedType = () => plain(415, "Unsupported media type");
export const unparsable = () => badRequest("Cannot parse JSON body");
export const unexpected = () => plain(500, "An unexpected error occurred");
/** Kong's clients try again after a 500, and only then. */
export const storeUnavailable = (message: string) => plain(500, message);
export const databaseUnavailable = (message: string) => coded(500, 8, "database error", { message });

export const invalidEntity = (violations: readonly Violation[]) =>
  new HttpError(400, { ...schemaViolation(violations) });

export const invalidSize = (message: string) => coded(400, 9, "invalid size", { message });
export const invalidOffset = (offset: string, why: string) =>
  coded(400, 7, "invalid offset", { message: `'${offset}' is not a valid offset: ${why}` });

/** A name in the URL that nothing can have. */
export const invalidUnique = (member: string, message: string) =>
  coded(400, 10, `invalid unique ${member}`, { message });
export const invalidOptions = (options: Readonly<Record<string, string>>) => {
  const list = Object.entries(options).map(([name, why]) => `${name}: ${why}`);
  return coded(400, 11, "invalid options", { message: `invalid option (${list.join("; ")})`, options });
};

interface Unresolved {
  readonly member: string;
  readonly to: Collection;
  /** The unique member by which it was looked for. */
  readonly by: string;
  readonly value: string;
}

/** References by name that lead nowhere, all at once. */
export function unresolvedReferences(unresolved: readonly Unresolved[]): HttpError {
  const told = unresolved.map(({ member, to, by, value }) => {
    const text = `the foreign key cannot be resolved with '${luaTable({ [by]: value })}' for an existing '${to}' entity`;
    return { member, by, text };
  });
  const list = told.map(({ member, by, text }) => `${member}.${by}: ${text}`).join("; ");
  return coded(400, 13, "foreign keys unresolved", {
    message:
      told.length === 1 ? `foreign key unresolved (${list})` : `${told.length} foreign keys unresolved (${list})`,
    fields: Object.fromEntries(told.map(({ member, by, text }) => [member, { [by]: text }])),
  });
}

function coded(status: number, code: number, name: string, rest: Body): HttpError {
  return new HttpError(status, { code, name, ...rest });
}

type Told = {
  readonly [Kind in WriteFault["kind"]]: (fault: Extract<WriteFault, { kind: Kind }>, attempt: Attempt) => HttpError;
};

const told: Told = {
  "primary-key": ({ id }) =>
    coded(400, 3, "primary key violation", {
      message: `primary key violation on key '${luaTable({ id })}'`,
      fields: { id },
    }),
  unique: ({ members }) =>
    coded(409, 5, "unique constraint violation", {
      message: `UNIQUE violation detected on '${luaTable(members)}'`,
      fields: members,
    }),
  "foreign-key": ({ member, to, id }) =>
    coded(400, 4, "foreign key violation", {
      message: `the foreign key '${luaTable({ id })}' does not reference an existing '${to}' entity.`,
      fields: { [member]: { id } },
    }),
  referenced: ({ by, collection }) =>
    coded(400, 4, "foreign key violation", {
      message: `an existing '${by}' entity references this '${collection}' entity`,
      fields: { "@referenced_by": by },
    }),
  invalid: ({ violations }) => invalidEntity(violations),
  owned: ({ what, owners }) => {
    const managers = [...new Set(owners.map(({ manager }) => manager))].join(", ");
    const fields = [...new Set(owners.map(({ field }) => field))];
    const said = fields.length === 1 ? "is managed by" : "are managed by";
    return new HttpError(409, {
      message: `${what}: ${fields.join(", ")} ${said} ${managers}; change it there`,
      owners,
    });
  },
  changed: ({ message }) => plain(409, message),
  "read-only": (_fault, { verb, collection, by }) => {
    const named = by === undefined ? "" : ` by '${by}'`;
    const message = `cannot ${verb} '${collection}' entities${named} when not using a database`;
    return coded(405, 12, "operation unsupported", { message });
  },
};

/** The answer to a write that the store did not do. */
export const refusalOf = (fault: WriteFault, attempt: Attempt): HttpError =>
  (told[fault.kind] as (fault: WriteFault, attempt: Attempt) => HttpError)(fault, attempt);
