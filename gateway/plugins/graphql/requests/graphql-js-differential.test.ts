/** The plugin reads requests as graphql-js does, on which most GraphQL servers in JavaScript are built. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { DocumentNode } from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";
import { parse } from "graphql/language/parser.js";
import { visit } from "graphql/language/visitor.js";
import { getOperationAST } from "graphql/utilities/getOperationAST.js";
import { fakeContext, fakeExchange } from "../../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../../test/plugins/filled-configs.ts";
import { graphql } from "../index.ts";
import { measureDocument } from "../measures.ts";

const names = fc.constantFrom("a", "b", "Users", "query", "fragment", "on", "type", "true", "__typename");
const comments = fc.constantFrom(" ", "\n", ",", " # { } \n", "\t", ' #"""\r', "\ufeff");
const values = fc.constantFrom(
  "1",
  '"}"',
  '"\\""',
  '"""{ "" \\""" """',
  "$v",
  "[1, {a: $v}]",
  "null",
  "-1.5e3",
  "enum",
);
const argument = fc.option(values, { nil: "" }).map((value) => (value === "" ? "" : `(x: ${value})`));
const directive = fc.constantFrom("", "", " @skip(if: $v)", ' @d(a: "@e")');

const { selections } = fc.letrec<{ readonly selections: string; readonly selection: string }>((tie) => ({
  selections: fc
    .array(tie("selection"), { minLength: 1, maxLength: 3 })
    .chain((all) => comments.map((space) => `{${all.join(space)}}`)),
  selection: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.tuple(names, argument, directive).map((parts) => parts.join("")),
    fc.tuple(names, names, argument).map(([alias, name, given]) => `${alias}: ${name}${given}`),
    fc.constantFrom("...F", "...G @d"),
    fc.tuple(names, tie("selections")).map((parts) => parts.join(" ")),
    tie("selections").map((set) => `... on User ${set}`),
    tie("selections").map((set) => `... @include(if: true) ${set}`),
  ),
}));

const operation = fc
  .tuple(
    fc.constantFrom("query", "mutation", "subscription"),
    fc.oneof(names, fc.constant("")),
    fc.constantFrom("", "($v: Int = 1)", '($v: [In!] = [{a: "{"}] @d)'),
    selections,
  )
  .map(([type, name, variables, set]) => `${type} ${name}${variables} ${set}`);
const fragment = fc
  .tuple(fc.constantFrom("F", "G"), selections)
  .map(([name, set]) => `fragment ${name} on User ${set}`);

/** Most documents have one operation, and define the fragments that they spread. */
const whole = fc
  .tuple(
    fc.oneof(operation, selections),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant(["fragment F on User { a }", "fragment G on User @d { ...F }"]) },
      { weight: 1, arbitrary: fc.array(fc.oneof(operation, selections, fragment), { maxLength: 3 }) },
    ),
    comments,
  )
  .map(([first, others, space]) => [first, ...others].join(`${space}\n`));

/** Documents in which one piece is replaced, so that many are not valid. */
const damaged = fc
  .tuple(
    whole,
    fc.nat(),
    fc.nat(3),
    fc.constantFrom("", "{", "}", '"', '"""', "#", "...", "$", "\u2028", "\0", "(", "on"),
  )
  .map(([text, at, length, piece]) => {
    const from = at % (text.length + 1);
    return text.slice(0, from) + piece + text.slice(from + length);
  });

const requests = fc.record({
  query: fc.oneof(whole, damaged),
  operationName: fc.option(names, { nil: undefined, freq: 1 }),
});

/** No limit is reached, so that only the reading decides. */
const config = withConfigDefaults("graphql", {
  ...{ max_depth: 200, max_fields: 1_000_000, max_root_fields: 10_000, max_aliases: 10_000, max_directives: 10_000 },
  ...{ max_tokens: 20_000, introspection: true },
});

interface Found {
  /** The code of a refusal; null: the request is forwarded. */
  readonly code: string | null;
  /** `type name` */
  readonly operations: readonly string[];
}

async function readByPlugin(request: object): Promise<Found> {
  const exchange = fakeExchange({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  const response = await graphql.phases(config, fakeContext({ plugin: "graphql" })).access?.(exchange);
  const operations = exchange.logFields.get("graphql.operations") as readonly { type: string; name: string }[];
  return {
    code: response === undefined ? null : JSON.parse(String(response.body)).errors[0].extensions.code,
    operations: operations.map(({ type, name }) => `${type} ${name}`),
  };
}

/** Null: graphql-js cannot parse the document. */
function parsedByGraphqlJs(query: string): DocumentNode | null {
  try {
    return parse(query);
  } catch {
    return null;
  }
}

const hasTwo = ({ definitions }: DocumentNode, wanted: string | undefined): boolean =>
  definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION && one.name?.value === wanted).length > 1;

/** Counted with the visitor of graphql-js, in a document without fragments that are spread. */
function countedByGraphqlJs(document: DocumentNode) {
  const counts = { depth: 0, fields: 0, aliases: 0, directives: 0 };
  let depth = 0;
  visit(document, {
    Field: {
      enter({ alias }) {
        counts.fields++;
        if (alias !== undefined) counts.aliases++;
        counts.depth = Math.max(counts.depth, ++depth);
      },
      leave() {
        depth--;
      },
    },
    Directive() {
      counts.directives++;
    },
  });
  return counts;
}

describe("requests of GraphQL", () => {
  it("are refused with GRAPHQL_PARSE_FAILED only if graphql-js cannot parse them, and are never forwarded in that case", async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        const { code } = await readByPlugin(request);
        const document = parsedByGraphqlJs(request.query);
        if (document === null) assert.ok(code === "GRAPHQL_PARSE_FAILED" || code === "BAD_REQUEST", String(code));
        else assert.notEqual(code, "GRAPHQL_PARSE_FAILED");
      }),
      { numRuns: 1000 },
    );
  });

  it("count as the operation that graphql-js executes, and are refused if it executes none", async () => {
    let forwarded = 0;
    await fc.assert(
      fc.asyncProperty(requests, async ({ query, operationName }) => {
        const { code, operations } = await readByPlugin({ query, operationName });
        const document = parsedByGraphqlJs(query);
        if (document === null) return;
        const executed = getOperationAST(document, operationName);
        if (code === null) {
          forwarded++;
          assert.deepEqual(operations, [`${executed?.operation} ${executed?.name?.value ?? "(unnamed)"}`]);
        } else if (code !== "BAD_REQUEST") {
          assert.equal(code, "OPERATION_RESOLUTION_FAILURE");
          // graphql-js refuses two operations with one name only when it validates the document.
          assert.ok(!executed || hasTwo(document, operationName));
        }
      }),
      { numRuns: 1000 },
    );
    assert.ok(forwarded > 100, `${forwarded} requests were forwarded`);
  });

  it("have the depth, fields, aliases and directives that the visitor of graphql-js counts", () => {
    fc.assert(
      fc.property(fc.oneof(selections, operation), (query) => {
        const document = parsedByGraphqlJs(query);
        fc.pre(document !== null && !/\.\.\.[FG]/.test(query));
        const { rootFields: _, ...counts } = measureDocument(document).largest;
        assert.deepEqual(counts, countedByGraphqlJs(document));
      }),
      { numRuns: 500 },
    );
  });
});
