/**
 * Checks a request before it is executed, for every transport: HTTP, WebSocket and event stream. Documents within the
 * limits are cached by their text, with their validation errors.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  type SelectionSetNode,
  specifiedRules,
  validate,
} from "graphql";
import { lru } from "tiny-lru";
import { createFailure } from "../errors.ts";
import { type Limits, limitExceeded } from "./limits.ts";
import {
  costMeasure,
  depthMeasure,
  isIntrospection,
  measureOperation,
  nestsDeeper,
  type OperationMeasure,
  rootFields,
  type Variables,
} from "./measures.ts";
import type { TrustedDocuments } from "./trusted.ts";

/** A client's request with members of the right types; `readRequest` makes it from the parsed body. */
export interface GraphqlRequest {
  readonly query?: string;
  /** Names a trusted document instead of `query`. */
  readonly documentId?: string;
  readonly operationName?: string | null;
  readonly variables?: Variables | null;
}

export interface Operation {
  readonly source: string;
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  /**
   * The fields that the operation selects, each once: `Query.users`, `User.name`. Only fields of the schema are listed,
   * so their number is bounded.
   */
  readonly fields: readonly string[];
}

export type RefusedDocument = { readonly errors: readonly GraphQLError[] };

/** Returns the requested operation if it is within all limits and valid against the schema, else its errors. */
export type CheckDocument = (request: GraphqlRequest) => Operation | RefusedDocument;

export interface DocumentsOptions {
  readonly schema: GraphQLSchema;
  readonly limits: Limits;
  readonly introspection: boolean;
  readonly trusted?: TrustedDocuments;
}

/** A document that is within all limits that do not depend on variables. */
interface CachedDocument {
  readonly document: DocumentNode;
  readonly operations: readonly (Operation & { readonly costOf: (variables: Variables) => number })[];
  /** The error of a document that must not even be validated. Null: the document can be validated. */
  readonly subscriptionRootError: GraphQLError | null;
  /** The validation errors, computed on first use. */
  faults?: readonly GraphQLError[];
}

/** The maximum number of cached documents. The key of a document is its text, which is no longer than a request. */
export const CACHED_DOCUMENTS = 256;

export function makeDocumentCheck({ schema, limits, introspection, trusted }: DocumentsOptions): CheckDocument {
  const rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  const kept = lru<CachedDocument>(CACHED_DOCUMENTS);

  function keep(source: string): CachedDocument | RefusedDocument {
    const document = parsed(source, limits);
    if ("errors" in document) return document;
    const found = inspect(source, document, { schema, limits });
    if ("errors" in found) return found;
    kept.set(source, found);
    return found;
  }

  return (request) => {
    const source = sourceOf(request, trusted);
    if (typeof source !== "string") return { errors: [source] };
    const document = kept.get(source) ?? keep(source);
    if ("errors" in document) return document;
    const operation = select(document.operations, request.operationName ?? undefined);
    if (operation instanceof GraphQLError) return { errors: [operation] };
    const variables = request.variables ?? {};
    if (nestsDeeper(variables, limits.variablesDepth)) {
      return { errors: [limitExceeded("variablesDepth", limits, "The variables are nested too deeply")] };
    }
    const total = operation.costOf(variables);
    if (total > limits.cost) {
      return { errors: [limitExceeded("cost", limits, `The operation could request ${total} field values`)] };
    }
    if (document.subscriptionRootError !== null) return { errors: [document.subscriptionRootError] };
    document.faults ??= validate(schema, document.document, rules, { hideSuggestions: !introspection });
    return document.faults.length > 0 ? { errors: document.faults } : operation;
  };
}

function sourceOf({ query, documentId }: GraphqlRequest, trusted: TrustedDocuments | undefined): string | GraphQLError {
  if (documentId !== undefined) {
    return (
      trusted?.byId.get(documentId) ?? createFailure("PERSISTED_QUERY_NOT_FOUND", "No trusted document has this id")
    );
  }
  if (query === undefined || query === "") return createFailure("BAD_REQUEST", "The request has no query");
  if (trusted === undefined || trusted.texts.has(query)) return query;
  return createFailure("PERSISTED_QUERY_NOT_FOUND", "Only trusted documents are executed");
}

/** The message of graphql-js (language/parser.js). */
const TOO_MANY_TOKENS = /^Syntax Error: Document contains more that \d+ tokens/;

function parsed(source: string, limits: Limits): DocumentNode | RefusedDocument {
  try {
    return parse(source, { maxTokens: limits.tokens });
  } catch (error) {
    if (error instanceof GraphQLError && !TOO_MANY_TOKENS.test(error.message)) return { errors: [error] };
    if (error instanceof GraphQLError)
      return { errors: [limitExceeded("tokens", limits, "The document has too many tokens")] };
    // The parser is recursive, and the document overflowed the stack.
    if (error instanceof RangeError)
      return { errors: [limitExceeded("depth", limits, "The document is nested too deeply")] };
    throw error;
  }
}

function inspect(
  source: string,
  document: DocumentNode,
  { schema, limits }: Pick<DocumentsOptions, "schema" | "limits">,
): CachedDocument | RefusedDocument {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const nodes: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    else if (definition.kind === Kind.OPERATION_DEFINITION) nodes.push(definition);
    else
      return {
        errors: [createFailure("GRAPHQL_VALIDATION_FAILED", "A request may contain only operations and fragments")],
      };
  }
  const options = { schema, fragments };
  const errors: GraphQLError[] = [];
  const operations = nodes.map((node) => {
    const typeName = schema.getRootType(node.operation)?.name ?? "";
    const by = (how: OperationMeasure): number =>
      measureOperation({ selections: node.selectionSet, typeName }, how, options);
    const { aliases, fields } = countFields(by);
    const counts = [
      ["depth", by(depthMeasure), (count: number) => `nests fields ${count} levels deep`],
      ["rootFields", by(rootFields), (count: number) => `has ${count} root fields`],
      ["aliases", aliases, (count: number) => `has ${count} aliases`],
    ] as const;
    for (const [limit, count, text] of counts) {
      if (count > limits[limit]) errors.push(limitExceeded(limit, limits, `The operation ${text(count)}`));
    }
    return { source, document, node, fields, costOf: costs(by, limits) };
  });
  if (errors.length > 0) return { errors };
  return { document, operations, subscriptionRootError: subscriptionRootError(nodes, fragments) };
}

/** Counts each alias once where it is written, however often its fragment is spread, and lists the selected fields. */
function countFields(by: (how: OperationMeasure) => number): {
  readonly aliases: number;
  readonly fields: readonly string[];
} {
  const fields = new Set<string>();
  let aliases = 0;
  by({
    field(node, _below, { typeName, field }) {
      if (node.alias !== undefined) aliases += 1;
      if (field !== undefined && !isIntrospection(node)) fields.add(`${typeName}.${field.name}`);
      return 0;
    },
    join: () => 0,
  });
  return { aliases, fields: [...fields] };
}

/** Returns a function from variables to an operation's cost, which is computed once if it does not depend on them. */
function costs(by: (how: OperationMeasure) => number, { page }: Limits): (variables: Variables) => number {
  let depends = false;
  const onVariable = (): void => {
    depends = true;
  };
  const fixed = by(costMeasure({ page, variables: {}, onVariable }));
  return (variables) => (depends ? by(costMeasure({ page, variables })) : fixed);
}

function select<Named extends { readonly node: OperationDefinitionNode }>(
  operations: readonly Named[],
  name: string | undefined,
): Named | GraphQLError {
  const [first, second] = operations;
  const chosen =
    name === undefined && second === undefined ? first : operations.find(({ node }) => node.name?.value === name);
  if (chosen !== undefined && (name !== undefined || second === undefined)) return chosen;
  return createFailure("GRAPHQL_VALIDATION_FAILED", "operationName must name one operation of the document");
}

const CONDITIONS: ReadonlySet<string> = new Set(["skip", "include"]);

/**
 * The error of a document with a subscription whose root field has @skip or @include, which the specification forbids
 * (Single Root Field, graphql-spec#860). graphql-js has that rule from version 17. Version 16 fails with a TypeError
 * when no field is left. Its validation, which covers all operations of the document, throws when a condition is a
 * variable, because it does not know the values of variables. So this check must run before the validation.
 */
function subscriptionRootError(
  operations: readonly OperationDefinitionNode[],
  fragmentsOf: ReadonlyMap<string, FragmentDefinitionNode>,
): GraphQLError | null {
  // Iterative, and visits each fragment once, because fragment cycles are not checked yet.
  const fragments = new Map(fragmentsOf);
  const sets: SelectionSetNode[] = operations
    .filter(({ operation }) => operation === OperationTypeNode.SUBSCRIPTION)
    .map(({ selectionSet }) => selectionSet);
  for (const { selections } of sets) {
    for (const selection of selections) {
      const condition = selection.directives?.find(({ name }) => CONDITIONS.has(name.value));
      if (condition !== undefined) {
        return new GraphQLError("The field of a subscription must not have @skip or @include", {
          nodes: condition,
        });
      }
      if (selection.kind === Kind.INLINE_FRAGMENT) sets.push(selection.selectionSet);
      if (selection.kind !== Kind.FRAGMENT_SPREAD) continue;
      const fragment = fragments.get(selection.name.value);
      fragments.delete(selection.name.value);
      if (fragment !== undefined) sets.push(fragment.selectionSet);
    }
  }
  return null;
}
