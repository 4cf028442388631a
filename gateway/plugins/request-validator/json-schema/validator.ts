/**
 * Validates values against a JSON Schema from configuration.
 *
 * `@cfworker/json-schema` resolves references and tests single values. Everything whose cost depends on the client's
 * value is done here, because the library matches `pattern` with a backtracking engine, compares the items of
 * `uniqueItems` in pairs, and follows references without a limit. Here, patterns run on RE2, items are compared by
 * their canonical text, and the number of steps of a validation is limited.
 */
import { dereference, type SchemaDraft, validate } from "@cfworker/json-schema";
import { type Checked, compileRegex, isRecord } from "@sluice/plugin-sdk";
import { applicators } from "./applicators.ts";
import { type Draft, keywordsOf, type SchemaObject, schemaFaults } from "./keywords.ts";
import { type EvaluatedItems, regexSteps, TooComplexError, Validation, type ValueTest } from "./validation.ts";

/** The first error of a value: its place as a JSON pointer ("" for the value itself), and its description. */
export interface SchemaError {
  readonly pointer: string;
  readonly message: string;
}

export interface JsonSchemaValidator {
  /** Null: the value is valid. */
  errorOf(value: unknown): SchemaError | null;
}

/** Keywords that the library tests: each looks at one value only. */
const scalarKeywords = [
  ...["type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"],
  ...["required", "dependentRequired", "format"],
];

const libraryDrafts: Readonly<Record<Draft, SchemaDraft>> = {
  draft4: "4",
  draft7: "7",
  draft201909: "2019-09",
  draft202012: "2020-12",
};

/** Longer strings are invalid in every `format`: some regular expressions of the library need quadratic time. */
const MAX_FORMATTED = 2048;

/** The format `url`. The library's regular expression needs exponential time. */
const isUrl = (text: string): boolean =>
  /^(?:https?|ftp):\/\/[^\s/?#]/i.test(text) && !/\s/.test(text) && URL.canParse(text);

/** Turns a JSON Schema and its subschemas into tests. */
export class SchemaCompiler {
  readonly draft: Draft;
  readonly #targets: Readonly<Record<string, unknown>>;
  readonly #tests = new Map<unknown, { run: ValueTest }>();
  /** References whose target does not exist. */
  readonly unresolved: string[] = [];

  /** @param targets The schema and its subschemas by their absolute URI */
  constructor(draft: Draft, targets: Readonly<Record<string, unknown>>) {
    this.draft = draft;
    this.#targets = targets;
  }

  /** The test of a schema. Each schema is compiled once, so that it may refer to itself. */
  test(schema: unknown): ValueTest {
    if (typeof schema === "boolean") return (_value, run) => schema || run.fail("is not allowed");
    const known = this.#tests.get(schema);
    if (known !== undefined) return (value, run, evaluated) => known.run(value, run, evaluated);
    const own: { run: ValueTest } = { run: () => true };
    this.#tests.set(schema, own);
    own.run = this.#build(isRecord(schema) ? schema : {});
    return (value, run, evaluated) => own.run(value, run, evaluated);
  }

  #build(schema: SchemaObject): ValueTest {
    const known = keywordsOf(schema, this.draft);
    const reference = known.$ref === undefined ? [] : [this.#reference(schema)];
    // In draft 7 and older drafts, the other keywords beside a reference are ignored.
    const isAlone = reference.length > 0 && (this.draft === "draft4" || this.draft === "draft7");
    const own = isAlone ? [] : [this.#scalars(known), this.#pattern(known), ...applicators(known, this)];
    const tests = [...reference, ...own].filter((test) => test !== null);
    const collects = known.unevaluatedItems !== undefined || known.unevaluatedProperties !== undefined;
    return (value, run, evaluated) =>
      run.nested(() => {
        const seen: EvaluatedItems | null = collects || evaluated !== null ? new Set() : null;
        for (const test of tests) if (!test(value, run, seen)) return false;
        if (evaluated !== null && seen !== null) for (const each of seen) evaluated.add(each);
        return true;
      });
  }

  #reference(schema: SchemaObject): ValueTest {
    const { $ref, __absolute_ref__: absolute } = schema;
    const target = this.#targets[String(absolute)];
    if (target === undefined) {
      this.unresolved.push(String($ref));
      return () => false;
    }
    return this.test(target);
  }

  /** The test of the keywords that look at one value only; null: the schema has none. */
  #scalars(known: SchemaObject): ValueTest | null {
    const scalars = Object.fromEntries(Object.entries(known).filter(([name]) => scalarKeywords.includes(name)));
    if (Object.keys(scalars).length === 0) return null;
    const draft = libraryDrafts[this.draft];
    const { format, ...others } = scalars;
    const tested = format === "url" ? others : scalars;
    const hasFormat = format !== undefined;
    return (value, run) => {
      if (hasFormat && typeof value === "string" && value.length > MAX_FORMATTED) {
        return run.fail(`is too long for the format "${format}"`);
      }
      if (format === "url" && typeof value === "string" && !isUrl(value)) {
        return run.fail('String does not match format "url".');
      }
      const [error] = validate(value, tested, draft, {}).errors;
      // The library writes some numbers after two spaces.
      return error === undefined || run.fail(error.error.replace("  ", " "));
    };
  }

  #pattern({ pattern }: SchemaObject): ValueTest | null {
    const regex = typeof pattern === "string" ? compileRegex(pattern).value : undefined;
    if (regex === undefined) return null;
    return (value, run) => {
      if (typeof value !== "string") return true;
      run.spend(regexSteps(value));
      return regex.test(value) || run.fail(`does not match the pattern "${pattern}"`);
    };
  }
}

/** A validator, or the errors of the schema; violations have empty paths. */
export function compileJsonSchema(text: string, draft: Draft): Checked<JsonSchemaValidator> {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    return invalid([`is not JSON: ${error instanceof Error ? error.message : error}`]);
  }
  const faults = schemaFaults(schema, draft);
  if (faults.length > 0) return invalid(faults.map((fault) => `is not a valid JSON Schema: ${fault}`));
  let targets: Readonly<Record<string, unknown>>;
  try {
    targets = dereference(schema as SchemaObject);
  } catch (error) {
    return invalid([`is not a valid JSON Schema: ${error instanceof Error ? error.message : error}`]);
  }
  const compiler = new SchemaCompiler(draft, targets);
  const test = compiler.test(schema);
  const { unresolved } = compiler;
  if (unresolved.length > 0)
    return invalid(unresolved.map((each) => `the reference ${each} does not lead to a schema of the same document`));
  return { value: { errorOf: (value) => firstErrorOf(test, value) } };
}

const invalid = (messages: readonly string[]) => ({ violations: messages.map((message) => ({ path: [], message })) });

function firstErrorOf(test: ValueTest, value: unknown): SchemaError | null {
  const run = new Validation();
  try {
    return test(value, run, null) ? null : run.error;
  } catch (error) {
    if (error instanceof TooComplexError) return { pointer: "", message: error.message };
    // The stack does not suffice for a value that is nested very deeply.
    if (error instanceof RangeError) return { pointer: "", message: "is nested too deeply" };
    throw error;
  }
}
