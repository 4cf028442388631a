/** Parameters of a request as values: the styles of OpenAPI 3.0 (Parameter Object, Style Values). */
import { type ExchangeRequest, isRecord, lowerCase, pairValues } from "@sluice/plugin-sdk";
import type { SchemaObject } from "./json-schema/keywords.ts";

export interface ParameterPlace {
  readonly in: "query" | "header" | "path";
  readonly name: string;
  readonly style: string;
  readonly explode: boolean;
}

/** The parts of a request that may have parameters. */
export interface ParameterSource {
  readonly request: Pick<ExchangeRequest, "query" | "headerValues">;
  readonly pathCaptures: Readonly<Record<string, string>> | null;
}

/** Maximum parameters of a query that is read, because each parameter is decoded. */
const MAX_PARAMETERS = 1000;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/;
const MAX_REFERENCES = 8;

/** The schema itself, or the one to which its local references lead; empty: there is none. */
function resolved(schema: unknown, root: unknown): SchemaObject {
  let found = schema;
  for (let count = 0; count < MAX_REFERENCES && isRecord(found) && typeof found.$ref === "string"; count++) {
    const tokens = found.$ref.startsWith("#/") ? found.$ref.slice(2).split("/") : [];
    let target: unknown = tokens.length > 0 ? root : null;
    for (const token of tokens) {
      const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
      target = isRecord(target) && Object.hasOwn(target, name) ? target[name] : null;
    }
    found = target;
  }
  return isRecord(found) ? found : {};
}

const hasType = ({ type }: SchemaObject, name: string) => (Array.isArray(type) ? type.includes(name) : type === name);

/** A text as the number, boolean or null that the schema asks for; else the text. */
function scalar(text: string, schema: SchemaObject): unknown {
  if ((hasType(schema, "integer") || hasType(schema, "number")) && NUMBER.test(text)) return Number(text);
  if (hasType(schema, "boolean") && (text === "true" || text === "false")) return text === "true";
  return hasType(schema, "null") && text === "" ? null : text;
}

/**
 * The value of a parameter or member with these texts. If there are several, the upstream may use any of them, so none
 * is chosen: the result stays a list, which a schema for a single value refuses.
 */
const single = (texts: readonly string[], schema: SchemaObject): unknown =>
  texts.length === 1 ? scalar(texts[0] ?? "", schema) : texts;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The text of a parameter in the path or a header, with the prefix of its style; null: absent. */
function textOf({ in: place, name }: ParameterPlace, { request, pathCaptures }: ParameterSource): string | null {
  if (place === "path") {
    return pathCaptures !== null && Object.hasOwn(pathCaptures, name) ? (pathCaptures[name] ?? null) : null;
  }
  const values = request.headerValues(lowerCase(name));
  return values.length === 0 ? null : values.join(",");
}

/** The items of a parameter; null: absent. An object has items `name=value`, or names and values in turn. */
function partsOf(parameter: ParameterPlace, source: ParameterSource, isScalar: boolean): readonly string[] | null {
  const { in: place, name, style, explode } = parameter;
  if (place === "query") {
    const values = pairValues(source.request.query.slice(1), name);
    if (values.length === 0) return null;
    if (explode || isScalar) return values;
    const delimiter = style === "pipeDelimited" ? "|" : style === "spaceDelimited" ? " " : ",";
    return values.flatMap((value) => value.split(delimiter));
  }
  const text = textOf(parameter, source);
  if (text === null) return null;
  const plain = place === "path" ? decoded(text) : text;
  if (style === "label")
    return plain.startsWith(".") ? splitUnless(isScalar, plain.slice(1), explode ? "." : ",") : [plain];
  if (style === "matrix") {
    const prefix = `;${name}=`;
    if (explode && !isScalar)
      return plain
        .replace(/^;/, "")
        .split(";")
        .map((part) => part.replace(`${name}=`, ""));
    return plain.startsWith(prefix) ? splitUnless(isScalar, plain.slice(prefix.length), ",") : [plain];
  }
  return splitUnless(isScalar, plain, ",").map((part) => (place === "header" ? part.trim() : part));
}

const splitUnless = (isScalar: boolean, text: string, delimiter: string): readonly string[] =>
  isScalar ? [text] : text.split(delimiter);

/** Members of an object, each a query parameter of its own: `name[member]` (deepObject) or `member`; null: none. */
function queryMembers({ name, style }: ParameterPlace, query: string, schema: SchemaObject): MemberTexts | null {
  const isDeep = style === "deepObject";
  const known = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
  const members: [string, string][] = [];
  for (const [key, value] of new URLSearchParams(query)) {
    const member = isDeep && key.startsWith(`${name}[`) && key.endsWith("]") ? key.slice(name.length + 1, -1) : key;
    if (isDeep ? member !== key : known.includes(key)) members.push([member, value]);
  }
  return members.length === 0 ? null : textsByName(members);
}

/** The texts of each member of an object: several if the request repeats its name. */
type MemberTexts = ReadonlyMap<string, readonly string[]>;

const textsByName = (members: readonly (readonly [string, string])[]): MemberTexts =>
  new Map([...Map.groupBy(members, ([name]) => name)].map(([name, each]) => [name, each.map(([, text]) => text)]));

function pairsOf(parts: readonly string[], explode: boolean): MemberTexts {
  if (!explode) {
    const names = parts.filter((_part, index) => index % 2 === 0);
    return textsByName(names.map((name, index) => [name, parts[2 * index + 1] ?? ""]));
  }
  return textsByName(
    parts.map((part) => {
      const at = part.indexOf("=");
      return at === -1 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    }),
  );
}

function objectOf(members: MemberTexts, schema: SchemaObject, root: unknown): Readonly<Record<string, unknown>> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const schemaOf = (name: string) =>
    Object.hasOwn(properties, name) ? properties[name] : (schema.additionalProperties ?? {});
  return Object.fromEntries([...members].map(([name, texts]) => [name, single(texts, resolved(schemaOf(name), root))]));
}

/** Whether the query has too many parameters to be read. */
export function hasTooManyParameters({ request: { query } }: ParameterSource): boolean {
  let count = 1;
  for (let at = query.indexOf("&"); at !== -1; at = query.indexOf("&", at + 1)) count++;
  return count > MAX_PARAMETERS;
}

/** Whether the request has the parameter, whatever its form. */
export const hasParameter = (parameter: ParameterPlace, source: ParameterSource): boolean =>
  partsOf(parameter, source, true) !== null;

/** The value of a parameter in the type that its schema states; undefined: the request lacks it. */
export function parameterValue(parameter: ParameterPlace, source: ParameterSource, root: unknown): unknown {
  const schema = resolved(root, root);
  const { in: place, explode, style } = parameter;
  if (hasType(schema, "object")) {
    if (place === "query" && (explode || style === "deepObject")) {
      const members = queryMembers(parameter, source.request.query, schema);
      return members === null ? undefined : objectOf(members, schema, root);
    }
    const parts = partsOf(parameter, source, false);
    return parts === null ? undefined : objectOf(pairsOf(parts, explode), schema, root);
  }
  const isList = hasType(schema, "array");
  const parts = partsOf(parameter, source, !isList);
  if (parts === null) return undefined;
  if (isList) return parts.map((part) => scalar(part, resolved(schema.items, root)));
  return single(parts, schema);
}
