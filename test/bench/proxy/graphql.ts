/** What the plugin graphql costs for operations that it knows, compared with the same requests on a plain route. */
import type { BenchReport } from "../report.ts";
import { median } from "../rounds.ts";
import type { CaseContestants } from "./field.ts";
import { startSluice } from "./sluice.ts";
import type { WrkOptions } from "./wrk.ts";

const QUERY = "query Users($first: Int) { users(first: $first) { id name email } }";
const SCHEMA = "type Query { users(first: Int): [User] } type User { id: ID name: String email: String }";
const manifest = JSON.stringify({ "users-v1": QUERY });

interface GraphqlLoad {
  readonly name: string;
  readonly config: object;
  readonly load: Pick<WrkOptions, "body"> & { readonly path?: string };
}

const repeated = { body: { json: JSON.stringify({ query: QUERY, variables: { first: 10 } }) } };

const loads: readonly GraphqlLoad[] = [
  { name: "POST", config: {}, load: repeated },
  { name: "POST, with a schema and max_cost", config: { schema: SCHEMA, max_cost: 1000 }, load: repeated },
  { name: "POST, trusted documents", config: { trusted_documents: { manifest } }, load: repeated },
  {
    name: "POST, a trusted document by its id",
    config: { trusted_documents: { manifest } },
    load: { body: { json: JSON.stringify({ documentId: "users-v1", variables: { first: 10 } }) } },
  },
  { name: "GET", config: {}, load: { path: `/api/x?${new URLSearchParams({ query: QUERY })}` } },
  {
    name: "POST, other variables each time",
    config: {},
    load: { body: { json: JSON.stringify({ query: QUERY, variables: { first: "NUMBER" } }), numbered: true } },
  },
];

const plain = (name: string): string => `no plugin, ${name}`;
const limited = (name: string): string => `graphql, ${name}`;

/** The bound applies to requests that repeat earlier ones; the others are measured too. */
const BOUND = 1.25;
const isBound = ({ name }: GraphqlLoad): boolean => name === "POST" || name === "GET";

export async function measureGraphql(field: CaseContestants): Promise<BenchReport> {
  for (const { name, config, load } of loads) {
    const start = (plugins: readonly object[]) =>
      field.start(name, (stage) => startSluice(stage, { routes: 10, plugins }));
    field.enter(plain(name), await start([]), load);
    field.enter(limited(name), await start([{ name: "graphql", config }]), load);
  }
  const samples = await field.run();
  const figure = (name: string, of: "cpu" | "p99") => median((samples.get(name) ?? []).map((sample) => sample[of]));
  const { verdicts } = field.report({
    title: "",
    method: "",
    samples,
    ratios: loads.map((each) => ({
      name: `${each.name}: graphql / no plugin`,
      of: limited(each.name),
      to: plain(each.name),
      ...(isBound(each) && { bound: BOUND }),
    })),
  });
  return {
    title: "Known GraphQL operations",
    method:
      "The same requests on a plain route and on one with the plugin graphql, whose caches are warm: POST of a JSON body " +
      "of about 110 bytes (or GET with the query in the URL), answered with a JSON result of 100 bytes, in which the " +
      "plugin searches for errors. All nodes run at the same time, and take turns under load. In the last pair, each " +
      "request has another variable, so that the body is parsed each time, and the document is not.",
    rows: loads.map(({ name }) => ({
      requests: name,
      "no plugin, CPU us": figure(plain(name), "cpu").toFixed(1),
      "graphql, CPU us": figure(limited(name), "cpu").toFixed(1),
      "no plugin, p99 ms": figure(plain(name), "p99").toFixed(2),
      "graphql, p99 ms": figure(limited(name), "p99").toFixed(2),
    })),
    verdicts,
  };
}
