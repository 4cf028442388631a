/** Executes queries by plans where possible; each resolver runs once, even when a plan fails. */
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  specifiedRules,
  type ValidationRule,
  type VariableDefinitionNode,
  validate,
} from "graphql";
import { type Plan, planOf, type Variables } from "./plan.ts";
import { Given, makeReplays } from "./replay.ts";

/** An operation of a document that is within the limits. It may still be invalid; that is checked here. */
export interface QuickOperation {
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
}

/** The result. Null: the query must be executed by graphql-js, and no resolver has run. */
export type Quick = (
  operation: QuickOperation,
  given: { readonly variables: Variables; readonly context: () => object },
) => Promise<ExecutionResult> | null;

export interface QuickOptions {
  readonly schema: GraphQLSchema;
  /** Validation rules in addition to those of the specification. */
  readonly rules: readonly ValidationRule[];
}

/**
 * The variables unchanged, when all are strings for String and ID, which graphql-js does not change either. Undefined:
 * graphql-js has to coerce them.
 */
function textsOf(definitions: readonly VariableDefinitionNode[], variables: Variables): Variables | undefined {
  const texts: Record<string, unknown> = {};
  for (const { variable, type, defaultValue } of definitions) {
    const name = variable.name.value;
    const named = type.kind === Kind.NON_NULL_TYPE ? type.type : type;
    const isText = named.kind === Kind.NAMED_TYPE && (named.name.value === "ID" || named.name.value === "String");
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (!isText || defaultValue !== undefined || typeof value !== "string" || name === "__proto__") return undefined;
    texts[name] = value;
  }
  return texts;
}

/** A plan is kept as long as its operation. */
export function makeQuick({ schema, rules }: QuickOptions): Quick {
  const replays = makeReplays(schema);
  /** Undefined for an operation that was executed once: making a plan for an operation that never recurs costs more. */
  const plans = new WeakMap<OperationDefinitionNode, Plan | null | undefined>();

  function prepare({ document, node }: QuickOperation): Plan | null {
    if (node.operation !== OperationTypeNode.QUERY) return null;
    if (validate(schema, document, [...specifiedRules, ...rules]).length > 0) return null;
    const fragments = document.definitions.filter(
      (definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION,
    );
    return planOf(node, { schema, replays, fragments });
  }

  return (operation, { variables, context }) => {
    const { node } = operation;
    let plan = plans.get(node);
    if (plan === undefined) {
      plan = plans.has(node) ? prepare(operation) : undefined;
      plans.set(node, plan);
    }
    if (!plan) return null;
    const definitions = node.variableDefinitions ?? [];
    const coerced = textsOf(definitions, variables) ?? getVariableValues(schema, definitions, variables).coerced;
    if (coerced === undefined) return null;
    const contextValue = context();
    const given = new Given();
    return plan(contextValue, coerced, given).then(
      (data) => ({ data }) as ExecutionResult,
      () => {
        replays.begin(contextValue, given);
        const { document } = operation;
        return execute({ schema, document, contextValue, variableValues: variables, operationName: node.name?.value });
      },
    );
  };
}
