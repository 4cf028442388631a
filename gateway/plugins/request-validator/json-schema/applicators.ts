/** Keywords that apply schemas to a value, its members or its items. */
import { compileRegex, isRecord } from "@sluice/plugin-sdk";
import type { SchemaObject } from "./keywords.ts";
import { type EvaluatedItems, regexSteps, type Validation, type ValueTest } from "./validation.ts";

/** Makes the test of a subschema. */
interface Compiler {
  test(schema: unknown): ValueTest;
}

/** The tests of a schema's applicators, or null; `unevaluated…` is last, because it depends on the others. */
export const applicators = (known: SchemaObject, compiler: Compiler): readonly (ValueTest | null)[] => [
  combinations(known, compiler),
  condition(known, compiler),
  onObjects(known, compiler),
  onItems(known, compiler),
  contains(known, compiler),
  known.uniqueItems === true ? uniqueItems : null,
  unevaluated(known, compiler),
];

const testsOf = (schemas: unknown, compiler: Compiler): readonly ValueTest[] | null =>
  Array.isArray(schemas) ? schemas.map((schema) => compiler.test(schema)) : null;

const testOf = (schema: unknown, compiler: Compiler): ValueTest | null =>
  schema === undefined ? null : compiler.test(schema);

function combinations(known: SchemaObject, compiler: Compiler): ValueTest | null {
  const all = testsOf(known.allOf, compiler) ?? [];
  const any = testsOf(known.anyOf, compiler);
  const one = testsOf(known.oneOf, compiler);
  const not = testOf(known.not, compiler);
  if (all.length === 0 && any === null && one === null && not === null) return null;
  /** The number of tests that the value passes. All of them run, because each may add members to `evaluated`. */
  const matches = (tests: readonly ValueTest[], value: unknown, run: Validation, evaluated: EvaluatedItems | null) =>
    tests.filter((test) => run.trial(() => test(value, run, evaluated))).length;
  return (value, run, evaluated) => {
    if (!all.every((test) => test(value, run, evaluated))) return false;
    if (any !== null && matches(any, value, run, evaluated) === 0)
      return run.fail("matches none of the schemas of anyOf");
    const count = one === null ? 1 : matches(one, value, run, evaluated);
    if (count !== 1) return run.fail(`matches ${count} schemas of oneOf instead of one`);
    if (not !== null && run.trial(() => not(value, run, null))) return run.fail("matches the schema of not");
    return true;
  };
}

function condition(known: SchemaObject, compiler: Compiler): ValueTest | null {
  const test = testOf(known.if, compiler);
  if (test === null) return null;
  const [yes, no] = [testOf(known.then, compiler), testOf(known.else, compiler)];
  return (value, run, evaluated) => {
    const next = run.trial(() => test(value, run, evaluated)) ? yes : no;
    return next === null || next(value, run, evaluated);
  };
}

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  isRecord(value) ? Object.entries(value) : [];

function onObjects(known: SchemaObject, compiler: Compiler): ValueTest | null {
  const properties = entriesOf(known.properties).map(([name, schema]) => [name, compiler.test(schema)] as const);
  const patterns = entriesOf(known.patternProperties).flatMap(([source, schema]) => {
    const regex = compileRegex(source).value;
    return regex === undefined ? [] : [{ regex, test: compiler.test(schema) }];
  });
  const additional = testOf(known.additionalProperties, compiler);
  const names = testOf(known.propertyNames, compiler);
  const dependencies = [...entriesOf(known.dependencies), ...entriesOf(known.dependentSchemas)].map(
    ([name, schema]) => [name, compiler.test(Array.isArray(schema) ? { required: schema } : schema)] as const,
  );
  if (properties.length + patterns.length + dependencies.length === 0 && additional === null && names === null) {
    return null;
  }
  const byName = new Map(properties);

  /** Tests one member. It is an additional one if neither `properties` nor `patternProperties` has a schema for it. */
  function member(name: string, value: unknown, run: Validation, evaluated: EvaluatedItems | null): boolean {
    if (names !== null && !run.below(name, name, names)) return false;
    const own = byName.get(name);
    run.spend(patterns.length * regexSteps(name));
    const matching = patterns.filter(({ regex }) => regex.test(name)).map(({ test }) => test);
    const tests = [...(own === undefined ? [] : [own]), ...matching];
    if (tests.length === 0 && additional !== null) tests.push(additional);
    if (tests.length > 0) evaluated?.add(name);
    return tests.every((test) => run.below(name, value, test));
  }

  return (value, run, evaluated) => {
    if (!isRecord(value)) return true;
    for (const name in value) if (!member(name, value[name], run, evaluated)) return false;
    return dependencies.every(([name, test]) => !Object.hasOwn(value, name) || test(value, run, evaluated));
  };
}

/** `prefixItems` and `items` of draft 2020-12; `items` with a list, and `additionalItems`, of older drafts. */
function onItems(known: SchemaObject, compiler: Compiler): ValueTest | null {
  const { prefixItems, items, additionalItems } = known;
  const first = testsOf(prefixItems, compiler) ?? testsOf(items, compiler);
  const rest = testOf(Array.isArray(items) ? additionalItems : items, compiler);
  if (first === null && rest === null) return null;
  return (value, run, evaluated) => {
    if (!Array.isArray(value)) return true;
    return value.every((item, index) => {
      const test = first?.[index] ?? rest;
      if (test === null) return true;
      evaluated?.add(index);
      return run.below(index, item, test);
    });
  };
}

function contains(known: SchemaObject, compiler: Compiler): ValueTest | null {
  const test = testOf(known.contains, compiler);
  if (test === null) return null;
  const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = known;
  return (value, run, evaluated) => {
    if (!Array.isArray(value)) return true;
    let count = 0;
    for (const [index, item] of value.entries()) {
      if (!run.trial(() => run.below(index, item, test))) continue;
      evaluated?.add(index);
      count++;
    }
    if (count >= Number(minContains) && count <= Number(maxContains)) return true;
    return run.fail(`has ${count} items that match the schema of contains`);
  };
}

/** Text that is equal for equal JSON values. An object becomes a list of sorted entries; "[" marks other lists. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, each: unknown) => {
    if (Array.isArray(each)) return ["[", ...each];
    return isRecord(each) ? Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)) : each;
  });

/** Characters of a canonical text that cost as much as a step. */
const CANONICAL_PER_STEP = 8;

const uniqueItems: ValueTest = (value, run) => {
  if (!Array.isArray(value)) return true;
  const texts = new Set<string>();
  for (const item of value) {
    const text = canonical(item);
    // The text of an item is built again for each list around it.
    run.spend(text.length / CANONICAL_PER_STEP);
    texts.add(text);
  }
  return texts.size === value.length || run.fail("has equal items");
};

function unevaluated(known: SchemaObject, compiler: Compiler): ValueTest | null {
  const items = testOf(known.unevaluatedItems, compiler);
  const properties = testOf(known.unevaluatedProperties, compiler);
  if (items === null && properties === null) return null;
  return (value, run, evaluated) => {
    const rest = (token: string | number, part: unknown, test: ValueTest): boolean => {
      if (evaluated?.has(token)) return true;
      evaluated?.add(token);
      return run.below(token, part, test);
    };
    if (items !== null && Array.isArray(value)) return value.every((item, index) => rest(index, item, items));
    if (properties === null || !isRecord(value)) return true;
    return Object.entries(value).every(([name, part]) => rest(name, part, properties));
  };
}
