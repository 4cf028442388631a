/** Decodes request bodies to plain data, which is not validated yet. */
import { type Collection, decodeForm, type FormParts } from "@sluice/model";
import { boundaryOf, multipartParts } from "@sluice/plugin-sdk";
import { unstorableTexts } from "../../stores/unstorable-text.ts";
import { badRequest, invalidEntity, unparsable, unsupportedType } from "./errors.ts";
import { type JsonLimits, type JsonResult, readJson } from "./read-json.ts";

export type RawMembers = Readonly<Record<string, unknown>>;

export interface ReceivedBody {
  readonly contentType: string | undefined;
  readonly bytes: Buffer | undefined;
}

/**
 * More than any entity needs. Limits are necessary, because every value may cause a violation, and all violations are
 * reported.
 */
const ENTITY_LIMITS: JsonLimits = { depth: 64, values: 10_000 };

/**
 * @param hint.before The entity that a form changes. If the form does not name a plugin, its config is decoded for the
 * plugin that this entity names.
 *
 * @throws HttpError 400 or 415.
 */
export function decodeBody(
  { contentType, bytes = Buffer.alloc(0) }: ReceivedBody,
  collection: Collection,
  hint: { readonly before?: object } = {},
): RawMembers {
  const type = mediaTypeOf(contentType);
  if (type === undefined && bytes.length === 0) return {};
  if (type === "application/json") return parseJson(bytes);
  const form = decodeForm(readForm(type, { contentType, bytes }), collection, hint);
  if (form.violations) throw invalidEntity(form.violations);
  return requireStorable(form.value);
}

export const mediaTypeOf = (contentType: string | undefined): string | undefined =>
  contentType?.split(";")[0]?.trim().toLowerCase();

export function readForm(type: string | undefined, { contentType = "", bytes = Buffer.alloc(0) }: ReceivedBody) {
  if (type === "multipart/form-data") {
    if (bytes.length === 0) return "";
    const parts = readMultipart(contentType, bytes);
    if (!parts) throw badRequest("the body is not a form of the type multipart/form-data in UTF-8");
    return parts;
  }
  if (type !== "application/x-www-form-urlencoded") throw unsupportedType();
  const text = decodeUtf8(bytes);
  if (text === undefined) throw invalidEntity([{ path: ["@entity"], message: "the body is not UTF-8" }]);
  return text;
}

/**
 * Decodes a JSON object.
 *
 * @throws HttpError 400, or 415 for any other content type.
 */
export function decodeJson({ contentType, bytes = Buffer.alloc(0) }: ReceivedBody, bounds: JsonLimits): RawMembers {
  if (mediaTypeOf(contentType) !== "application/json") throw unsupportedType();
  return parseJson(bytes, bounds);
}

function parseJson(bytes: Buffer, bounds: JsonLimits = ENTITY_LIMITS): RawMembers {
  const { value, fault } = { value: undefined, ...readJson(decodeUtf8(bytes) ?? "", bounds) };
  if (typeof fault === "object") throw badRequest(`the body ${describeJsonFault(fault)}`);
  if (fault !== undefined || typeof value !== "object" || value === null || Array.isArray(value)) throw unparsable();
  return requireStorable(value as RawMembers);
}

function describeJsonFault(fault: Exclude<JsonResult["fault"], string | undefined>): string {
  if ("twice" in fault) return `has the member '${fault.twice.slice(0, 256)}' twice in one record`;
  return "depth" in fault ? `is nested deeper than ${fault.depth} levels` : `holds more than ${fault.values} values`;
}

function requireStorable(value: RawMembers): RawMembers {
  const violations = unstorableTexts(value);
  if (violations.length > 0) throw invalidEntity(violations);
  return value;
}

/** A form of type multipart/form-data (RFC 7578); undefined: a part is not UTF-8, or the type has no boundary. */
export function readMultipart(contentType: string, bytes: Buffer): FormParts | undefined {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) return undefined;
  const textOf = (text: string) => decodeUtf8(Buffer.from(text, "latin1"), { ignoreBOM: true });
  const parts = multipartParts(bytes.toString("latin1"), boundary).flatMap(({ name: encoded, value }) => {
    const [name, text] = [textOf(encoded), textOf(value)];
    return name === undefined || text === undefined ? [undefined] : [{ name, text }];
  });
  return parts.every((part) => part !== undefined) ? parts : undefined;
}

/** Undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Buffer, options: { readonly ignoreBOM?: boolean } = {}): string | undefined {
  try {
    return new TextDecoder("utf-8", { ...options, fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
