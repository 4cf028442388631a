/**
 * The parts of a service's schema that the cost of operations depends on, with the directives `@cost` and `@listSize`
 * (IBM's GraphQL Cost Directives; Apollo's routers read the same directives).
 */
import type {
  ConstDirectiveNode,
  ConstValueNode,
  FieldDefinitionNode,
  InputValueDefinitionNode,
  TypeNode,
} from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";
import { parse } from "graphql/language/parser.js";

export interface ServiceArgument {
  readonly weight: number;
  readonly byDefault: ConstValueNode | null;
}

/** `@listSize`. A path is the name of an argument, followed by the names of members of input objects. */
export interface ListSize {
  readonly assumedSize: number | null;
  readonly slicingArguments: readonly (readonly string[])[];
  /** Names of fields of the field's type; empty: the field itself is the list. */
  readonly sizedFields: readonly string[];
}

export interface ServiceField {
  readonly typeName: string;
  /** 1 for a list, 2 for a list of lists. */
  readonly listDepth: number;
  /** Null: the weight of the type. */
  readonly weight: number | null;
  readonly listSize: ListSize | null;
  readonly arguments: ReadonlyMap<string, ServiceArgument>;
}

export interface ServiceType {
  /** Whether values of the type have fields; scalars and enums have none. */
  readonly isComposite: boolean;
  /** Whether values are of other types: interfaces and unions. */
  readonly isAbstract: boolean;
  /** Null: the type has no `@cost`. */
  readonly weight: number | null;
  readonly fields: ReadonlyMap<string, ServiceField>;
}

export interface ServiceSchema {
  readonly types: ReadonlyMap<string, ServiceType>;
  readonly roots: Readonly<Record<"query" | "mutation" | "subscription", string>>;
}

export const noSchema: ServiceSchema = {
  types: new Map(),
  roots: { query: "Query", mutation: "Mutation", subscription: "Subscription" },
};

const argumentOf = (directive: ConstDirectiveNode | undefined, name: string): ConstValueNode | undefined =>
  directive?.arguments?.find((argument) => argument.name.value === name)?.value;

const named = (directives: readonly ConstDirectiveNode[] | undefined, name: string) =>
  directives?.find((directive) => directive.name.value === name);

/** The weight is a string in IBM's specification, and a number in Apollo's. */
function weightOf(directives: readonly ConstDirectiveNode[] | undefined): number | null {
  const weight = argumentOf(named(directives, "cost"), "weight");
  if (weight === undefined || !("value" in weight)) return null;
  const value = Number(weight.value);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

const textsOf = (value: ConstValueNode | undefined): readonly string[] => {
  const values = value?.kind === Kind.LIST ? value.values : value === undefined ? [] : [value];
  return values.flatMap((one) => (one.kind === Kind.STRING ? [one.value] : []));
};

function listSizeOf(directives: readonly ConstDirectiveNode[] | undefined): ListSize | null {
  const directive = named(directives, "listSize");
  if (directive === undefined) return null;
  const assumed = argumentOf(directive, "assumedSize");
  return {
    assumedSize: assumed?.kind === Kind.INT ? Number(assumed.value) : null,
    slicingArguments: textsOf(argumentOf(directive, "slicingArguments")).map((path) => path.split(".")),
    sizedFields: textsOf(argumentOf(directive, "sizedFields")),
  };
}

function typeOf(type: TypeNode): { readonly typeName: string; readonly listDepth: number } {
  if (type.kind === Kind.NAMED_TYPE) return { typeName: type.name.value, listDepth: 0 };
  const { typeName, listDepth } = typeOf(type.type);
  return { typeName, listDepth: type.kind === Kind.LIST_TYPE ? listDepth + 1 : listDepth };
}

const serviceArgument = ({ directives, defaultValue }: InputValueDefinitionNode): ServiceArgument => ({
  weight: weightOf(directives) ?? 0,
  byDefault: defaultValue ?? null,
});

const serviceField = ({ type, directives, arguments: given = [] }: FieldDefinitionNode): ServiceField => ({
  ...typeOf(type),
  weight: weightOf(directives),
  listSize: listSizeOf(directives),
  arguments: new Map(given.map((argument) => [argument.name.value, serviceArgument(argument)])),
});

const INTERFACES: ReadonlySet<Kind> = new Set([Kind.INTERFACE_TYPE_DEFINITION, Kind.INTERFACE_TYPE_EXTENSION]);

/** Reads a schema in the schema definition language. @throws GraphQLError with line and column if it is invalid */
export function readServiceSchema(sdl: string): ServiceSchema {
  const types = new Map<string, ServiceType>();
  const roots = { ...noSchema.roots };
  for (const definition of parse(sdl).definitions) {
    switch (definition.kind) {
      case Kind.SCHEMA_DEFINITION:
      case Kind.SCHEMA_EXTENSION:
        for (const { operation, type } of definition.operationTypes ?? []) roots[operation] = type.name.value;
        break;
      case Kind.OBJECT_TYPE_DEFINITION:
      case Kind.OBJECT_TYPE_EXTENSION:
      case Kind.INTERFACE_TYPE_DEFINITION:
      case Kind.INTERFACE_TYPE_EXTENSION: {
        const before = types.get(definition.name.value);
        const added = (definition.fields ?? []).map((field) => [field.name.value, serviceField(field)] as const);
        types.set(definition.name.value, {
          isComposite: true,
          isAbstract: INTERFACES.has(definition.kind),
          weight: weightOf(definition.directives) ?? before?.weight ?? null,
          fields: new Map([...(before?.fields ?? []), ...added]),
        });
        break;
      }
      case Kind.UNION_TYPE_DEFINITION:
      case Kind.SCALAR_TYPE_DEFINITION:
      case Kind.ENUM_TYPE_DEFINITION: {
        const isComposite = definition.kind === Kind.UNION_TYPE_DEFINITION;
        types.set(definition.name.value, {
          isComposite,
          isAbstract: isComposite,
          weight: weightOf(definition.directives),
          fields: new Map(),
        });
        break;
      }
    }
  }
  return { types, roots };
}

/** The schema with further definitions, whose fields replace fields of the same name. */
export function withDefinitions(schema: ServiceSchema, further: ServiceSchema): ServiceSchema {
  const types = new Map(schema.types);
  for (const [name, type] of further.types) {
    const before = types.get(name);
    const fields = new Map([...(before?.fields ?? []), ...type.fields]);
    types.set(name, { ...type, weight: type.weight ?? before?.weight ?? null, fields });
  }
  return { types, roots: schema.roots };
}
