/** Errors of the admin listener, with Kong's codes and bodies (docs/reference/kong-compatibility.md#errors). */
import type { Log } from "@sluice/crds";
import { type Collection, schemaViolation, type Violation } from "@sluice/model";
import { DatabaseUnavailable, NodesUnreachable, StoreUnavailable, type WriteFault } from "../../stores/store.ts";

export type ErrorBody = Readonly<Record<string, unknown>>;

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, body: ErrorBody, headers: Readonly<Record<string, string>> = {}) {
    super(typeof body.message === "string" ? body.message : `status ${status}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

const messageError = (status: number, message: string) => new HttpError(status, { message });

export const badRequest = (message: string) => messageError(400, message);
export const forbidden = (message: string) => messageError(403, message);
export const notFound = () => messageError(404, "Not found");
export const serverNameNotFound = () => messageError(404, "SNI not found");
export const preconditionFailed = (message: string) => messageError(412, message);
export const methodNotAllowed = () => messageError(405, "Method not allowed");
export const unsupportedType = () => messageError(415, "Unsupported media type");
export const noNodeKnown = () => messageError(503, "no node is running, or none is known to this process");
export const unparsable = () => badRequest("Cannot parse JSON body");

export const invalidEntity = (violations: readonly Violation[]) =>
  new HttpError(400, { ...schemaViolation(violations) });

export const invalidSize = (message: string) => codedError(400, 9, "invalid size", { message });
export const invalidOffset = (offset: string, why: string) =>
  codedError(400, 7, "invalid offset", { message: `'${offset}' is not a valid offset: ${why}` });

/** The error for a name in the URL if the entities of the collection have only ids. */
export const invalidPrimaryKey = (message: string) =>
  codedError(400, 1, "invalid primary key", {
    message: `invalid primary key: '${luaTable({ id: message })}'`,
    fields: { id: message },
  });

export const referencedByOthers = (message: string) => codedError(400, 19, "referenced by others", { message });

/** The error for a value in the URL that no entity can have. */
export const invalidUnique = (member: string, message: string) =>
  codedError(400, 10, `invalid unique ${member}`, { message });
export const invalidOptions = (options: Readonly<Record<string, string>>) => {
  const list = Object.entries(options).map(([name, why]) => `${name}: ${why}`);
  return codedError(400, 11, "invalid options", { message: `invalid option (${list.join("; ")})`, options });
};

interface Unresolved {
  readonly member: string;
  readonly to: Collection;
  /** The unique member by which the reference names the entity. */
  readonly by: string;
  readonly value: string;
}

export function unresolvedReferences(unresolved: readonly Unresolved[]): HttpError {
  const errorsByKind = unresolved.map(({ member, to, by, value }) => {
    const text = `the foreign key cannot be resolved with '${luaTable({ [by]: value })}' for an existing '${to}' entity`;
    return { member, by, text };
  });
  const list = errorsByKind.map(({ member, by, text }) => `${member}.${by}: ${text}`).join("; ");
  return codedError(400, 13, "foreign keys unresolved", {
    message:
      errorsByKind.length === 1
        ? `foreign key unresolved (${list})`
        : `${errorsByKind.length} foreign keys unresolved (${list})`,
    fields: Object.fromEntries(errorsByKind.map(({ member, by, text }) => [member, { [by]: text }])),
  });
}

function codedError(status: number, code: number, name: string, rest: ErrorBody): HttpError {
  return new HttpError(status, { code, name, ...rest });
}

export interface WriteAttempt {
  readonly verb: "create" | "create or update" | "update" | "remove";
  readonly collection: string;
  /** The member by which the URL names the entity; undefined: its id. */
  readonly by: string | undefined;
}

type ErrorsByKind = {
  readonly [Kind in WriteFault["kind"]]: (
    fault: Extract<WriteFault, { kind: Kind }>,
    attempt: WriteAttempt,
  ) => HttpError;
};

const writeErrors: ErrorsByKind = {
  "primary-key": ({ id }) =>
    codedError(400, 3, "primary key violation", {
      message: `primary key violation on key '${luaTable({ id })}'`,
      fields: { id },
    }),
  unique({ members: { consumer_group, ...rest } }) {
    // Left out if it is null, because plugins of Kong 3.9's free edition do not have this member.
    const members = (consumer_group ?? null) === null ? rest : { ...rest, consumer_group };
    return codedError(409, 5, "unique constraint violation", {
      message: `UNIQUE violation detected on '${luaTable(members)}'`,
      fields: members,
    });
  },
  "foreign-key": ({ member, to, id }) =>
    codedError(400, 4, "foreign key violation", {
      message: `the foreign key '${luaTable({ id })}' does not reference an existing '${to}' entity.`,
      fields: { [member]: { id } },
    }),
  referenced: ({ by, collection }) =>
    codedError(400, 4, "foreign key violation", {
      message: `an existing '${by}' entity references this '${collection}' entity`,
      fields: { "@referenced_by": by },
    }),
  invalid: ({ violations }) => invalidEntity(violations),
  owned: ({ what, owners }) => {
    const managers = [...new Set(owners.map(({ manager }) => manager))].join(", ");
    const fields = [...new Set(owners.map(({ field }) => field))];
    const said = fields.length === 1 ? "is managed by" : "are managed by";
    return new HttpError(409, {
      message: `${what}: ${fields.join(", ")} ${said} ${managers}; make the change there`,
      owners,
    });
  },
  changed: ({ message }) => messageError(409, message),
  "read-only": (_fault, { verb, collection, by }) => {
    const named = by === undefined ? "" : ` by '${by}'`;
    const message = `cannot ${verb} '${collection}' entities${named} when not using a database`;
    return codedError(405, 12, "operation unsupported", { message });
  },
};

export const writeFaultError = (fault: WriteFault, attempt: WriteAttempt): HttpError =>
  (writeErrors[fault.kind] as (fault: WriteFault, attempt: WriteAttempt) => HttpError)(fault, attempt);

/** Formats values as in Kong's messages, which users and tests search for: `{name="foo",route=null}`. */
function luaTable(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `{${value.map(luaTable).join(",")}}`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${name}=${luaTable(member)}`).join(",")}}`;
}

/**
 * The response to an error. An error that is caused neither by the client nor by the store or the nodes is a bug: it is
 * logged with its stack.
 */
export function toHttpError(error: unknown, log: Log): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof StoreUnavailable) {
    const { message, cause } = error;
    log.error({ reason: cause instanceof Error ? cause.message : undefined }, message);
    // Not 503, because Kong's clients retry only after the status 500.
    const isDatabase = error instanceof DatabaseUnavailable;
    return isDatabase ? codedError(500, 8, "database error", { message }) : messageError(500, message);
  }
  if (error instanceof NodesUnreachable) return messageError(503, error.message);
  // Errors of the HTTP server carry the status of the response.
  const { statusCode = 500 } = error as { readonly statusCode?: number };
  if (statusCode === 413) return messageError(413, "Payload too large");
  if (statusCode === 415) return unsupportedType();
  if (statusCode < 500) return badRequest((error as Error).message);
  log.error({ err: error }, "a request failed");
  return messageError(500, "An unexpected error occurred");
}
