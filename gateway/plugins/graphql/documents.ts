/** The documents of requests, each parsed once and checked against the limits of the config. */
import { hash } from "node:crypto";
import { LruCache } from "@sluice/plugin-sdk";
import type { DocumentNode } from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";
import { parse } from "graphql/language/parser.js";
import { type Cost, costOf, type StaticCostOptions, termsIn } from "./cost/static-cost.ts";
import { type MeasuredDocument, type Measures, measureDocument } from "./measures.ts";
import { noPurges, type OperationPurges, type PurgeRules } from "./purge/purge-rules.ts";
import { beyondLimit, type LimitName, malformedRequest, type Refusal } from "./refusals.ts";
import type { GraphqlConfig } from "./schema.ts";

export interface DefinedOperation {
  readonly type: "query" | "mutation" | "subscription";
  /** Null: the operation is anonymous. */
  readonly name: string | null;
  readonly cost: Cost;
  readonly purges: OperationPurges;
}

export interface ReadDocument {
  /** Hex digits. */
  readonly sha256: string;
  /** Empty if the document cannot be read. */
  readonly operations: readonly DefinedOperation[];
  /** Null: the document is within all limits. */
  readonly refusal: Refusal | null;
}

/** Documents in one generation of the cache, which has two. */
const MAX_DOCUMENTS = 500;
/** Maximum characters of a document whose text is kept: all of them take at most 4 MB. */
const MAX_KEPT_TEXT = 4096;
const MAX_OPERATIONS = 100;
const MAX_NAME = 128;
/**
 * Selections of all operations of a document together, if `max_fields` is not so high that one operation may have more.
 * Computing the costs of that many takes some milliseconds. Fragments that consist of spreads have many selections with
 * few fields.
 */
const MAX_SELECTIONS = 10_000;
/** Selections that an operation may have for each of its fields. */
const SELECTIONS_PER_FIELD = 4;
/** A document with more lists whose sizes depend on variables is not cached. */
const MAX_TERMS = 200;
/** Characters of a parser's message that clients get. */
const MAX_MESSAGE = 200;
/**
 * Characters at which comments end for some parsers only: graphql-java ends them at U+2028 and U+2029. A service with such
 * a parser would execute what is a comment here.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const OTHER_LINE_ENDS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]/;
/** The message of graphql-js, whose errors have no codes. */
const TOO_MANY_TOKENS = /Document contains more tha[nt] \d+ tokens/;

type Limits = Pick<
  GraphqlConfig,
  | "max_depth"
  | "max_fields"
  | "max_root_fields"
  | "max_aliases"
  | "max_directives"
  | "max_tokens"
  | "max_document_length"
  | "introspection"
>;

const limitOf: Readonly<Record<keyof Measures, keyof Limits & `max_${string}`>> = {
  depth: "max_depth",
  fields: "max_fields",
  rootFields: "max_root_fields",
  aliases: "max_aliases",
  directives: "max_directives",
};

const excesses: Readonly<Record<keyof Measures, string>> = {
  depth: "The document is nested too deeply",
  fields: "The document selects too many fields, with those of fragments wherever they are spread",
  rootFields: "An operation selects too many fields on the first level",
  aliases: "The document has too many aliases",
  directives: "The document has too many directives",
};

const measured = Object.keys(excesses) as readonly (keyof Measures & LimitName)[];

/** A copy, because a substring keeps its document in memory. */
const copyOf = (text: string): string => Buffer.from(text).toString();

export interface DocumentOptions extends StaticCostOptions {
  /** Null: no purges. */
  readonly purge: PurgeRules | null;
}

/** @param fixed The cost of each operation; undefined: it is computed */
function operationsOf(document: DocumentNode, options: DocumentOptions, fixed?: Cost): readonly DefinedOperation[] {
  return document.definitions.flatMap((definition) => {
    if (definition.kind !== Kind.OPERATION_DEFINITION) return [];
    const { operation: type, name } = definition;
    const cost = fixed ?? costOf(definition, document, options);
    const purges = options.purge?.purgesOf(definition, document, options.schema) ?? noPurges;
    return [{ type, name: name === undefined ? null : copyOf(name.value), cost, purges }];
  });
}

/** Refuses what parsers or services could read in different ways, and what takes too long to read. */
function formRefusal({ definitions }: DocumentNode): Refusal | null {
  const fragments = new Set<string>();
  let operations = 0;
  for (const definition of definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      operations++;
      if ((definition.name?.value.length ?? 0) > MAX_NAME)
        return malformedRequest(`The name of an operation has more than ${MAX_NAME} characters`);
      continue;
    }
    if (definition.kind !== Kind.FRAGMENT_DEFINITION)
      return malformedRequest("The document defines types; only operations and fragments can be executed");
    const name = definition.name.value;
    if (fragments.has(name)) return malformedRequest("The document defines two fragments with one name");
    fragments.add(name);
  }
  return operations > MAX_OPERATIONS
    ? malformedRequest(`The document has more than ${MAX_OPERATIONS} operations`)
    : null;
}

function limitRefusal(document: MeasuredDocument, limits: Limits): Refusal | null {
  const { largest, selections, introspects, cycle, isIncomplete } = document;
  if (isIncomplete) return malformedRequest("The document spreads a fragment that it does not define");
  if (cycle !== null) return malformedRequest("A fragment spreads itself, directly or by other fragments");
  for (const name of measured) {
    const maximum = limits[limitOf[name]];
    if (largest[name] > maximum) return beyondLimit(name, maximum, excesses[name]);
  }
  const most = Math.max(MAX_SELECTIONS, SELECTIONS_PER_FIELD * limits.max_fields);
  if (selections > most)
    return malformedRequest(`The operations have more than ${most} selections, with those of their fragments`);
  if (!introspects || limits.introspection) return null;
  const message = "Introspection is not allowed: the fields __schema and __type cannot be queried here";
  return { status: 403, code: "INTROSPECTION_DISABLED", message };
}

function readDocument(text: string, limits: Limits, options: DocumentOptions): Omit<ReadDocument, "sha256"> {
  const { max_tokens, max_document_length } = limits;
  if (text.length > max_document_length) {
    const refusal = beyondLimit("length", max_document_length, "The document has too many characters");
    return { operations: [], refusal };
  }
  if (OTHER_LINE_ENDS.test(text)) {
    const refusal = malformedRequest("The document has a control character, or the character U+2028 or U+2029");
    return { operations: [], refusal };
  }
  try {
    const document = parse(text, { maxTokens: max_tokens, noLocation: true });
    const malformed = formRefusal(document);
    if (malformed !== null) return { operations: [], refusal: malformed };
    const measures = measureDocument(document);
    const refusal = limitRefusal(measures, limits);
    if (refusal === null) return { operations: operationsOf(document, options), refusal };
    // Computing the cost could take long. The number of fields counts if the document is forwarded nevertheless.
    const fields: Cost = { fixed: measures.largest.fields, terms: [] };
    return { operations: operationsOf(document, options, fields), refusal };
  } catch (error) {
    return { operations: [], refusal: parseRefusal(error, limits) };
  }
}

function parseRefusal(error: unknown, { max_tokens, max_depth }: Limits): Refusal {
  // The parser is recursive: documents of very many nested sets exhaust the stack.
  if (error instanceof RangeError) return beyondLimit("depth", max_depth, excesses.depth);
  const { message } = error as Error;
  if (TOO_MANY_TOKENS.test(message)) return beyondLimit("tokens", max_tokens, "The document has too many tokens");
  return { status: 400, code: "GRAPHQL_PARSE_FAILED", message: copyOf(message.slice(0, MAX_MESSAGE)) };
}

/** Whether the costs of the operations take little memory, compared with the document itself. */
const isSmall = ({ operations }: ReadDocument): boolean =>
  operations.reduce((sum, { cost }) => sum + termsIn(cost), 0) <= MAX_TERMS;

export class DocumentCache {
  readonly #documents = new LruCache<ReadDocument>(MAX_DOCUMENTS);
  /** Documents by their texts, which spares the computation of the hash. */
  readonly #texts = new LruCache<ReadDocument>(MAX_DOCUMENTS);
  readonly #limits: Limits;
  readonly #options: DocumentOptions;

  constructor(limits: Limits, options: DocumentOptions) {
    this.#limits = limits;
    this.#options = options;
  }

  of(text: string): ReadDocument {
    if (text.length > MAX_KEPT_TEXT) return this.#hashed(text);
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const read = this.#hashed(text);
    if (isSmall(read)) this.#texts.set(text, read);
    return read;
  }

  #hashed(text: string): ReadDocument {
    const sha256 = hash("sha256", text);
    const known = this.#documents.get(sha256);
    if (known !== undefined) return known;
    const read = { sha256, ...readDocument(text, this.#limits, this.#options) };
    if (isSmall(read)) this.#documents.set(sha256, read);
    return read;
  }

  /** Undefined: no client has sent the document recently. */
  withHash(sha256: string): ReadDocument | undefined {
    return this.#documents.get(sha256);
  }
}
