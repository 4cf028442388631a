/** request-validator: refuses requests that do not conform to schemas (docs/reference/kong-compatibility.md). */
import { type Checked, type DirectResponse, definePlugin, type Exchange, repeatsName } from "@sluice/plugin-sdk";
import { contentTypeOf } from "./content-type.ts";
import type { JsonSchemaValidator } from "./json-schema/validator.ts";
import { hasParameter, hasTooManyParameters, type ParameterPlace, parameterValue } from "./parameters.ts";
import { bodyValidator, type ParameterConfig, parameterValidator, requestValidatorFacts } from "./schema.ts";

/** Maximum bytes of a body that is validated, because it is buffered. */
const MAX_BODY = 1024 * 1024;

/** The type of a body without Content-Type. Only bodies of this type are validated. */
const JSON_TYPE = "application/json";

const utf8 = new TextDecoder("utf-8", { fatal: true });

const refusal = (message: string): DirectResponse => ({ status: 400, json: { message } });
const tooLarge: DirectResponse = { status: 413, json: { message: "Payload too large" } };
const typeNotAllowed = refusal("specified Content-Type is not allowed");

interface Parameter {
  readonly config: ParameterConfig;
  readonly place: ParameterPlace;
  /** Null: any value is valid. */
  readonly schema: { readonly validator: JsonSchemaValidator; readonly root: unknown } | null;
}

/** The validator of a schema that the config's check has accepted. */
function acceptedValidator(checked: Checked<JsonSchemaValidator>): JsonSchemaValidator {
  if (checked.violations) throw new Error(`the schema ${checked.violations[0]?.message}`);
  return checked.value;
}

function errorOf(validator: JsonSchemaValidator, value: unknown): string | null {
  const error = validator.errorOf(value);
  if (error === null) return null;
  return error.pointer === "" ? error.message : `${error.pointer}: ${error.message}`;
}

function parameterError({ config, place, schema }: Parameter, exchange: Exchange): string | null {
  const missing = config.required ? "required parameter value not found" : null;
  if (schema === null) return hasParameter(place, exchange) ? null : missing;
  const value = parameterValue(place, exchange, schema.root);
  return value === undefined ? missing : errorOf(schema.validator, value);
}

export const requestValidator = definePlugin({
  ...requestValidatorFacts,
  phases(config) {
    const { version, verbose_response: isVerbose, content_type_parameter_validation: comparesParameters } = config;
    const body = config.body_schema === null ? null : acceptedValidator(bodyValidator(config.body_schema, version));
    const parameters = (config.parameter_schema ?? []).map((each): Parameter => {
      const { in: place, name, style, explode, schema } = each;
      return {
        config: each,
        place: { in: place, name, style: style ?? "simple", explode: explode ?? false },
        schema:
          schema === null
            ? null
            : {
                validator: acceptedValidator(parameterValidator(schema, version)),
                root: JSON.parse(schema) as unknown,
              },
      };
    });
    const allowedTypes = config.allowed_content_types.map(contentTypeOf).filter((type) => type !== null);

    const parameterRefusal = ({ in: place, name }: ParameterConfig, error: string): DirectResponse =>
      refusal(
        isVerbose
          ? `${place} '${name}' validation failed, [error] ${error}`
          : "request param doesn't conform to schema",
      );

    const bodyRefusal = (error: string): DirectResponse =>
      refusal(isVerbose ? error : "request body doesn't conform to schema");

    function checkParameters(exchange: Exchange): DirectResponse | undefined {
      const [first] = parameters;
      if (first === undefined) return undefined;
      if (hasTooManyParameters(exchange)) return parameterRefusal(first.config, "the query has too many parameters");
      for (const parameter of parameters) {
        const error = parameterError(parameter, exchange);
        if (error !== null) return parameterRefusal(parameter.config, error);
      }
      return undefined;
    }

    async function checkBody(exchange: Exchange, validator: JsonSchemaValidator): Promise<DirectResponse | undefined> {
      const bytes = await exchange.request.body(MAX_BODY);
      if (bytes === null) return tooLarge;
      let value: unknown;
      try {
        value = JSON.parse(utf8.decode(bytes));
      } catch {
        return bodyRefusal("the body is not JSON");
      }
      if (repeatsName(bytes, value)) return bodyRefusal("an object in the body repeats a name");
      const error = errorOf(validator, value);
      return error === null ? undefined : bodyRefusal(error);
    }

    return {
      access(exchange) {
        const refused = checkParameters(exchange);
        if (refused !== undefined || body === null) return refused;
        const [given = JSON_TYPE, ...others] = exchange.request.headerValues("content-type");
        const sent = others.length === 0 ? contentTypeOf(given) : null;
        const isAllowed = allowedTypes.some(
          ({ type, parameter }) => type === sent?.type && (!comparesParameters || parameter === sent.parameter),
        );
        if (!isAllowed) return typeNotAllowed;
        return sent?.type === JSON_TYPE ? checkBody(exchange, body) : undefined;
      },
    };
  },
});
