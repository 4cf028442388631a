/** Reads the document of a request POST /config, in all forms that Kong accepts. */
import { checkDocument, type Document, readYaml, type Violation } from "@sluice/model";
import { parseBooleanOption } from "../http/boolean-option.ts";
import { decodeJson, decodeUtf8, mediaTypeOf, readForm } from "../http/decode-body.ts";
import { badRequest, unsupportedType } from "../http/errors.ts";
import type { JsonLimits } from "../http/read-json.ts";
import type { AdminRequest } from "../requests.ts";

export interface ConfigRequestOptions {
  readonly checkHash: boolean;
  readonly flattenErrors: boolean;
  readonly plan: boolean;
  /** Keeps entities that the document does not contain. */
  readonly keep: boolean;
  /** Also changes fields that other field managers own. */
  readonly force: boolean;
}

export type ConfigRequest = ReadDocument & { readonly options: ConfigRequestOptions };

type ReadDocument =
  | { readonly document: Document; readonly warnings: readonly Violation[]; readonly violations?: undefined }
  /** `data` is the document as written; undefined when it is not valid YAML. */
  | { readonly violations: readonly Violation[]; readonly data: unknown; readonly document?: undefined };

/** More values than any real document in a body of 10 MB has. */
const BOUNDS: JsonLimits = { depth: 100, values: 5_000_000, duplicates: true };
const yaml: ReadonlySet<string> = new Set(["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"]);
const forms: ReadonlySet<string> = new Set(["application/x-www-form-urlencoded", "multipart/form-data"]);

type Members = Readonly<Record<string, unknown>>;

/** @throws HttpError 400 without a document, or for an invalid body or option; 415 for an unsupported content type. */
export function readConfigRequest({ headers, bytes = Buffer.alloc(0), query }: AdminRequest): ConfigRequest {
  const contentType = headers["content-type"];
  const type = mediaTypeOf(contentType);
  if (type === undefined && bytes.length > 0) throw unsupportedType();
  if (type !== undefined && yaml.has(type)) return { options: optionsOf({}, query), ...load(textOf(bytes)) };
  const members = membersOf(type, { contentType, bytes });
  const options = optionsOf(members, query);
  if (members._format_version !== undefined) {
    const { check_hash: _hash, flatten_errors: _flatten, plan: _plan, dry_run: _dryRun, ...data } = members;
    const duplicates = type === "application/json" ? readYaml(textOf(bytes)).value?.warnings : undefined;
    return { options, ...check(data, duplicates) };
  }
  const { config } = members;
  if (typeof config === "string" && config !== "") return { options, ...load(config) };
  if (type !== "application/json" || bytes.length === 0) throw badRequest("expected a declarative configuration");
  // The object is not a document and has no `config`: the check reports what is missing.
  return { options, ...check(members) };
}

/**
 * Reads Kong's options as Kong does: `flatten_errors` accepts the usual spellings of true, `check_hash` only `1`.
 * `dry_run`, the option of other writes, means the same as `plan`.
 *
 * @throws HttpError 400 if `plan`, `dry_run`, `keep` or `force` is neither true nor false.
 */
function optionsOf(members: Members, query: AdminRequest["query"]): ConfigRequestOptions {
  const optionValue = (name: string): unknown => members[name] ?? query.get(name);
  const kongs = (name: string): string => String(optionValue(name) ?? "").toLowerCase();
  const plan = ["plan", "dry_run"].map((name) => parseBooleanOption(name, optionValue(name))).includes(true);
  return {
    keep: parseBooleanOption("keep", query.get("keep")),
    force: parseBooleanOption("force", query.get("force")),
    checkHash: kongs("check_hash") === "1",
    flattenErrors: ["true", "1", "on", "yes"].includes(kongs("flatten_errors")),
    plan,
  };
}

function membersOf(type: string | undefined, body: { contentType: string | undefined; bytes: Buffer }): Members {
  if (type === undefined) return {};
  if (type === "application/json") return decodeJson(body, BOUNDS);
  if (!forms.has(type)) throw unsupportedType();
  const form = readForm(type, body);
  if (typeof form === "string") return Object.fromEntries(new URLSearchParams(form));
  return Object.fromEntries(form.map(({ name, text }) => [name, text]));
}

function textOf(bytes: Buffer): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw badRequest("the document is not UTF-8");
  return text;
}

function load(text: string): ReadDocument {
  if (text.trim() === "") throw badRequest("expected a declarative configuration");
  const read = readYaml(text);
  if (read.violations) return { violations: read.violations, data: undefined };
  const { data, warnings, positionOf } = read.value;
  const checked = check(data, warnings);
  if (checked.violations) return checked;
  const located = checked.warnings.map((one) => ({ ...one, position: one.position ?? positionOf(one.path) }));
  return { ...checked, warnings: located };
}

/** `warnings` are the warnings about the text that contained the data. */
function check(data: unknown, warnings: readonly Violation[] = []): ReadDocument {
  const { value, violations } = checkDocument(data);
  return violations ? { violations, data } : { document: value.document, warnings: [...warnings, ...value.warnings] };
}
