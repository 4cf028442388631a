/** Executes queries by plans where possible. Even if a plan fails, a resolver that has returned does not run again. */
import {
  type ExecutionResult,
  execute,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type VariableDefinitionNode,
} from "graphql";
import type { Operation } from "../limits/documents.ts";
import type { Variables } from "../limits/measures.ts";
import { compilePlan, type ExecutionPlan } from "./plan.ts";
import { type ReturnedValues, replayResolvers } from "./replay.ts";

/** Returns the result. Null: the operation must be executed by graphql-js, and no resolver has run. */
export type ExecuteRecurring = (
  operation: Pick<Operation, "document" | "node">,
  given: { readonly variables: Variables; readonly context: () => object },
) => Promise<ExecutionResult> | null;

/**
 * The declared variables, if each has the type String or ID and a string as its value: graphql-js does not change such
 * values. Undefined: graphql-js has to coerce the variables.
 */
function stringVariables(definitions: readonly VariableDefinitionNode[], variables: Variables): Variables | undefined {
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

/** A plan stays in memory as long as its operation does. */
export function makeRecurringExecutor(schema: GraphQLSchema): ExecuteRecurring {
  const replay = replayResolvers(schema);
  /**
   * The plans by operation. Null: the operation can have no plan. Undefined: the operation was executed only once so
   * far, and a plan for an operation that never recurs would not pay off.
   */
  const plans = new WeakMap<OperationDefinitionNode, ExecutionPlan | null | undefined>();

  function prepare({ document, node }: Pick<Operation, "document" | "node">): ExecutionPlan | null {
    if (node.operation !== OperationTypeNode.QUERY) return null;
    const fragments = document.definitions.filter(
      (definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION,
    );
    return compilePlan(node, { schema, fragments });
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
    const coerced =
      stringVariables(definitions, variables) ?? getVariableValues(schema, definitions, variables).coerced;
    if (coerced === undefined) return null;
    const contextValue = context();
    const returned: ReturnedValues = [];
    return plan(contextValue, coerced, returned).then(
      (data) => ({ data }) as ExecutionResult,
      () => {
        replay(contextValue, returned);
        const { document } = operation;
        return execute({ schema, document, contextValue, variableValues: variables, operationName: node.name?.value });
      },
    );
  };
}
