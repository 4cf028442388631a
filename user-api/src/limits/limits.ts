/** Bounds on what one document may ask. */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  specifiedRules,
  type ValidationRule,
  validate,
} from "graphql";
import { failure } from "../errors.ts";

/** A document's tokens; the standard introspection query has about 250. Keeps parser and rules off the stack's end. */
export const MAX_TOKENS = 2_000;
/** A request body in bytes. Documents are cached by their text, so it bounds that memory too. */
export const MAX_BODY = 128 * 1024;

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/**
 * How many levels of fields there are below a selection set. `known` holds the fragments' depths: each is measured
 * once, however often it is spread. A fragment that spreads itself counts as 0 there; NoFragmentCyclesRule refuses it.
 */
function depthOf({ selections }: SelectionSetNode, fragments: Fragments, known: Map<string, number>): number {
  return Math.max(0, ...selections.map((selection) => depthOfSelection(selection, fragments, known)));
}

function depthOfSelection(selection: SelectionNode, fragments: Fragments, known: Map<string, number>): number {
  switch (selection.kind) {
    case Kind.FIELD:
      // Introspection asks about the schema; graphql-js' MaxIntrospectionDepthRule bounds it.
      if (selection.name.value.startsWith("__")) return 0;
      return 1 + (selection.selectionSet === undefined ? 0 : depthOf(selection.selectionSet, fragments, known));
    case Kind.INLINE_FRAGMENT:
      return depthOf(selection.selectionSet, fragments, known);
    case Kind.FRAGMENT_SPREAD: {
      const name = selection.name.value;
      const before = known.get(name);
      if (before !== undefined) return before;
      known.set(name, 0);
      const fragment = fragments.get(name);
      const depth = fragment === undefined ? 0 : depthOf(fragment.selectionSet, fragments, known);
      known.set(name, depth);
      return depth;
    }
  }
}

/** Refuses operations whose fields nest deeper than `limit`: `{ users { name } }` has the depth 2. */
export function depthRule(limit: number): ValidationRule {
  return (context) => {
    const fragments = new Map<string, FragmentDefinitionNode>();
    const known = new Map<string, number>();
    for (const definition of context.getDocument().definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    }
    return {
      OperationDefinition(node) {
        const depth = depthOf(node.selectionSet, fragments, known);
        if (depth <= limit) return;
        context.reportError(
          new GraphQLError(`The operation nests fields ${depth} levels deep; the limit is ${limit}`, { nodes: node }),
        );
      },
    };
  };
}

/**
 * Refuses what is JSON and not GraphQL: mercurius takes a text that does not parse for a syntax tree in JSON, and
 * executes trees that no parser has bounded. No executable document begins like this.
 */
export function refuseJson(source: string): void {
  if (!/^\s*(?:\{\s*["}]|["[\d-]|(?:true|false|null)\b)/.test(source)) return;
  parse(source, { maxTokens: MAX_TOKENS });
  throw failure("GRAPHQL_PARSE_FAILED", "Syntax Error: this is not a GraphQL document");
}

/** mercurius validates no subscription. Throws one error with all that is wrong. */
export function refuseInvalid(schema: GraphQLSchema, document: DocumentNode, rules: readonly ValidationRule[]): void {
  const errors = validate(schema, document, [...specifiedRules, ...rules]);
  const [first] = errors;
  if (first === undefined) return;
  throw new GraphQLError(errors.map(({ message }) => message).join("; "), {
    nodes: first.nodes,
    extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
  });
}

export interface Limits {
  /** Tokens of a document; the standard introspection query has about 250. Keeps the parser off the stack's end. */
  readonly tokens: number;
  /** How deep fields may nest: `{ users { name } }` has the depth 2. Introspection does not count. */
  readonly depth: number;
  /** Fields of a document that are given another name. */
  readonly aliases: number;
  /** Fields of the root type in one operation. */
  readonly rootFields: number;
  /** Field values that an answer may hold, as far as can be told in advance (see cost.ts). */
  readonly cost: number;
  /** How deep lists and objects may nest in the variables. */
  readonly variablesDepth: number;
  /** A request's body, or a message of a WebSocket. Documents are kept by their text, so it bounds that memory too. */
  readonly bytes: number;
  /** Until an operation is answered. What it has begun in the database is bounded there. */
  readonly milliseconds: number;
  /** Users in one list. */
  readonly page: number;
}

export const defaultLimits: Limits = {
  tokens: 2_000,
  depth: 8,
  aliases: 30,
  rootFields: 10,
  cost: 50_000,
  variablesDepth: 8,
  bytes: 128 * 1024,
  milliseconds: 10_000,
  page: 1_000,
};

/** The error for what is beyond a limit; `unit` says what was counted. */
export function beyond(limit: keyof Limits, limits: Limits, unit: string): GraphQLError {
  const maximum = limits[limit];
  return failure("LIMIT_EXCEEDED", `${unit}; the limit is ${maximum}`, { limit, maximum });
}
