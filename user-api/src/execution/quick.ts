/** Executes queries by plans, where that can be. */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  specifiedRules,
  type ValidationRule,
  validate,
} from "graphql";
import { type Plan, planOf, type Variables } from "./plan.ts";

/** An operation of a document that is within the limits; whether it fits the schema is found out here. */
export interface QuickOperation {
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
}

/** The data of a successful answer. Null: graphql-js has to execute the query, and nothing but reading has happened. */
export type Quick = (
  operation: QuickOperation,
  given: { readonly variables: Variables; readonly context: () => object },
) => Promise<object | null>;

export interface QuickOptions {
  readonly schema: GraphQLSchema;
  /** What is validated besides the rules of the specification. */
  readonly rules: readonly ValidationRule[];
}

/** Plans live as long as their operations are kept. */
export function makeQuick({ schema, rules }: QuickOptions): Quick {
  /** Undefined for an operation that was executed once: making a plan for each that never comes again costs more. */
  const plans = new WeakMap<OperationDefinitionNode, Plan | null | undefined>();

  function prepare({ document, node }: QuickOperation): Plan | null {
    if (node.operation !== OperationTypeNode.QUERY) return null;
    if (validate(schema, document, [...specifiedRules, ...rules]).length > 0) return null;
    const fragments = document.definitions.filter(
      (definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION,
    );
    return planOf(node, { schema, fragments });
  }

  return async (operation, { variables, context }) => {
    const { node } = operation;
    let plan = plans.get(node);
    if (plan === undefined) {
      plan = plans.has(node) ? prepare(operation) : undefined;
      plans.set(node, plan);
    }
    if (!plan) return null;
    const definitions = node.variableDefinitions ?? [];
    const values = definitions.length === 0 ? { coerced: {} } : getVariableValues(schema, definitions, variables);
    if (values.coerced === undefined) return null;
    return plan(context(), values.coerced).catch(() => null);
  };
}
