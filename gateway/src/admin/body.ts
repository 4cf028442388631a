/** Request bodies as plain data that nobody has checked yet (kong-contract 1.3). */
import { type Collection, decodeForm } from "@sluice/model";
import { badRequest, invalidEntity, unparsable, unsupportedType } from "./errors.ts";

export type Raw = Readonly<Record<string, unknown>>;

export interface ReceivedBody {
  readonly contentType: string | undefined;
  readonly bytes: Buffer | undefined;
}

/** Deeper than any entity; what is nested deeper is no entity but an attack on whoever walks it. */
const MAX_DEPTH = 64;

/** More than any entity has: every one may be a fault, and all faults are told. */
const MAX_VALUES = 10_000;

/** @throws HttpError 400 or 415. */
export function decodeBody({ contentType, bytes = Buffer.alloc(0) }: ReceivedBody, collection: Collection): Raw {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === undefined && bytes.length === 0) return {};
  if (type === "application/json") return parseJson(bytes);
  if (type !== "application/x-www-form-urlencoded") throw unsupportedType();
  const text = decodeUtf8(bytes);
  if (text === undefined) throw invalidEntity([{ path: ["@entity"], message: "the body is not UTF-8" }]);
  const form = decodeForm(text, collection);
  if (form.violations) throw invalidEntity(form.violations);
  return form.value;
}

function parseJson(bytes: Buffer): Raw {
  let value: unknown;
  try {
    value = JSON.parse(decodeUtf8(bytes) ?? "");
  } catch {
    throw unparsable();
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw unparsable();
  refuseBeyondBounds(value);
  return value as Raw;
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Level by level, not by recursion: the depth is what is doubted. */
function refuseBeyondBounds(value: object): void {
  let level: object[] = [value];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw unparsable();
    const inner = level.flatMap((at) => Object.values(at));
    values += inner.length;
    if (values > MAX_VALUES) throw badRequest(`the body holds more than ${MAX_VALUES} values`);
    level = inner.filter((one) => typeof one === "object" && one !== null);
  }
}
