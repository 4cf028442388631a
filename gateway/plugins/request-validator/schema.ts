/** Config of request-validator: the schemas of the body and of parameters. */
import {
  array,
  atLeastOneOf,
  boolean,
  type Checked,
  choice,
  definePluginFacts,
  isRecord,
  nullable,
  type RecordMembers,
  type RecordRule,
  record,
  type Static,
  set,
  text,
  type Violation,
} from "@sluice/plugin-sdk";
import { contentTypeOf } from "./content-type.ts";
import { type Draft, drafts } from "./json-schema/keywords.ts";
import { compileJsonSchema, type JsonSchemaValidator } from "./json-schema/validator.ts";
import { jsonSchemaOfKong } from "./kong-schema.ts";

/** Maximum characters of a schema. */
const MAX_SCHEMA = 65_536;

/** The styles that OpenAPI 3.0 defines for each place. */
const stylesIn: Readonly<Record<string, readonly string[]>> = {
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  path: ["simple", "label", "matrix"],
};

const parameter = record(
  {
    in: choice(["query", "header", "path"], { description: "Where the parameter is." }),
    name: text({
      description: "Name of the parameter. For a parameter in `path`, the name of a named group in the route's path.",
      maxLength: 256,
    }),
    required: boolean({ description: "Whether a request without the parameter is refused." }),
    style: nullable(
      choice(["label", "form", "matrix", "simple", "spaceDelimited", "pipeDelimited", "deepObject"], {
        description: "How the parameter's value is written, as in OpenAPI 3.0. Needs `explode` and `schema`.",
      }),
    ),
    explode: nullable(
      boolean({
        description:
          "Whether items and members are written separately, as in OpenAPI 3.0; in a query, each is then a parameter " +
          "of its own. Needs `style` and `schema`.",
      }),
    ),
    schema: nullable(
      text({
        description: "JSON Schema of the value, as text, with `type`. Needs `style` and `explode`.",
        maxLength: MAX_SCHEMA,
      }),
    ),
  },
  { description: "A parameter of requests." },
);

const schema = record(
  {
    allowed_content_types: set(text({ description: "A media type with at most one parameter.", maxLength: 256 }), {
      description: "Media types of bodies that are accepted if `body_schema` is set.",
      default: ["application/json"],
      maxItems: 64,
    }),
    content_type_parameter_validation: boolean({
      description: "Whether the parameter of Content-Type, such as charset, is compared too.",
      default: true,
    }),
    body_schema: nullable(
      text({
        description: "The schema of JSON bodies as text: a JSON Schema, or with version `kong` a list of fields.",
        maxLength: MAX_SCHEMA,
      }),
    ),
    parameter_schema: nullable(array(parameter, { description: "Parameters of requests.", maxItems: 128 })),
    verbose_response: boolean({ description: "Whether responses describe the error.", default: false }),
    version: choice(["kong", ...drafts], {
      description:
        "The language of `body_schema`. Schemas of parameters use the same draft of JSON Schema; with `kong`, draft 4.",
      default: "kong",
    }),
  },
  {
    description:
      "Refuses requests whose JSON body or parameters do not conform to a schema. With `body_schema`, JSON bodies of " +
      "more than 1 MiB are refused too.",
  },
);

export type RequestValidatorConfig = Static<typeof schema>;
export type ParameterConfig = Static<typeof parameter>;

const draftOf = (version: RequestValidatorConfig["version"]): Draft => (version === "kong" ? "draft4" : version);

export function bodyValidator(text: string, version: RequestValidatorConfig["version"]): Checked<JsonSchemaValidator> {
  if (version !== "kong") return compileJsonSchema(text, version);
  const translated = jsonSchemaOfKong(text);
  return translated.violations ? translated : compileJsonSchema(translated.value, "draft7");
}

export const parameterValidator = (text: string, version: RequestValidatorConfig["version"]) =>
  compileJsonSchema(text, draftOf(version));

const below = (path: Violation["path"], { violations }: Checked<unknown>): readonly Violation[] =>
  (violations ?? []).map(({ message }) => ({ path, message }));

const isVersion = (value: unknown): value is RequestValidatorConfig["version"] =>
  value === "kong" || drafts.some((draft) => draft === value);

const together = ["style", "explode", "schema"];

function checkParameter(given: unknown, index: number, version: unknown): readonly Violation[] {
  if (!isRecord(given)) return [];
  const path = ["parameter_schema", index];
  const present = together.filter((name) => given[name] !== null && given[name] !== undefined);
  if (present.length > 0 && present.length < together.length) {
    const names = together.map((name) => `'${name}'`).join(", ");
    return [{ path: [...path, "@entity"], message: `all or none of these fields must be set: ${names}` }];
  }
  const styles = stylesIn[String(given.in)];
  const isWrong = typeof given.style === "string" && styles !== undefined && !styles.includes(given.style);
  return [
    ...(isWrong ? [{ path: [...path, "style"], message: `expected one of: ${styles.join(", ")}` }] : []),
    ...(typeof given.schema === "string" && isVersion(version)
      ? checkParameterSchema(given.schema, version, [...path, "schema"])
      : []),
  ];
}

function checkParameterSchema(
  text: string,
  version: RequestValidatorConfig["version"],
  path: Violation["path"],
): readonly Violation[] {
  const compiled = parameterValidator(text, version);
  if (compiled.violations) return below(path, compiled);
  const parsed: unknown = JSON.parse(text);
  const hasType = isRecord(parsed) && (parsed.type !== undefined || parsed.$ref !== undefined);
  return hasType ? [] : [{ path, message: "must have a type, by which the value is read" }];
}

const check: RecordRule = (members: RecordMembers) => {
  const { body_schema: body, parameter_schema: parameters, allowed_content_types: types, version } = members;
  return [
    ...atLeastOneOf(members, ["body_schema", "parameter_schema"], "config."),
    ...(typeof body === "string" && isVersion(version) ? below(["body_schema"], bodyValidator(body, version)) : []),
    ...(Array.isArray(parameters)
      ? parameters.flatMap((each: unknown, index) => checkParameter(each, index, version))
      : []),
    ...(Array.isArray(types)
      ? types.flatMap((type: unknown, index) =>
          typeof type !== "string" || contentTypeOf(type) !== null
            ? []
            : [{ path: ["allowed_content_types", index], message: "must be a media type such as application/json" }],
        )
      : []),
  ];
};

export const requestValidatorFacts = definePluginFacts({
  name: "request-validator",
  version: "0.1.0",
  priority: 999,
  protects: true,
  check,
  kongChecks: [{ at_least_one_of: ["config.body_schema", "config.parameter_schema"] }],
  schema,
});
