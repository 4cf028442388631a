/** Headers of the responses to writes: warnings, and whether the nodes serve the change. */
import type { Collection, Entity, Plugin, Service, Target, WaitResponse } from "@sluice/model";
import type { ReasonToRefuse } from "../../balance/health-report.ts";
import { parseTargetAddress } from "../../balance/target-state.ts";
import type { Effect } from "../../stores/store.ts";
import type { WarningHeaders } from "../context.ts";
import type { EntityReader } from "../requests.ts";
import { graphqlDocumentWarningsOf } from "./graphql-document-warnings.ts";

/** The value is one or more warnings, separated by `; `. */
export const WARNING_HEADER = "X-Sluice-Warning";

/**
 * Returns a function that creates the header `X-Sluice-Warning` if nodes refuse to connect to the address of a written
 * entity, or if a plugin names GraphQL documents that do not exist after the write. The warning is in a header, because
 * Kong's clients reject unknown members in the body.
 */
export function createWarnings(store: EntityReader, reasonToRefuse: ReasonToRefuse): WarningHeaders {
  async function warningOf({ collection, after }: Effect): Promise<string | null> {
    const destination = after && destinationOf(collection, after);
    if (!destination) return null;
    const { what, host, port } = destination;
    const reason = reasonToRefuse(host, port);
    if (reason === null) return null;
    // The host of a service may be the name of an upstream.
    if (collection === "services" && (await store.find("upstreams", { member: "name", value: host }))) return null;
    return `nodes refuse to connect to the ${what}: ${reason}`;
  }

  return async (effects): ReturnType<WarningHeaders> => {
    const [found, ofDocuments] = await Promise.all([
      Promise.all(effects.map(warningOf)),
      graphqlDocumentWarningsOf(effects, store),
    ]);
    const all = [...found.filter((warning) => warning !== null), ...ofDocuments];
    const [first] = all;
    if (first === undefined) return {};
    return { [WARNING_HEADER]: safeHeaderValue(all.length === 1 ? first : `${first}; and ${all.length - 1} more`) };
  };
}

interface Destination {
  readonly what: string;
  readonly host: string;
  readonly port: number;
}

function destinationOf(collection: Collection, entity: Entity): Destination | null {
  if (collection === "services") {
    const { name, id, host, port } = entity as Service;
    return { what: `service ${name ?? id}`, host, port };
  }
  if (collection === "targets") {
    const { target } = entity as Target;
    return { what: `target ${target}`, ...parseTargetAddress(target) };
  }
  if (collection === "plugins") return redisOf(entity as Plugin);
  return null;
}

/** Plugins that use Redis have its address in the member `redis`. */
function redisOf({ name, config }: Plugin): Destination | null {
  const { policy, redis } = config as { readonly policy?: unknown; readonly redis?: Partial<Record<string, unknown>> };
  const { host, port } = redis ?? {};
  if (policy !== "redis" || typeof host !== "string" || typeof port !== "number") return null;
  return { what: `Redis of the plugin ${name}`, host, port };
}

/**
 * The headers after a write has waited for the nodes.
 *
 * | header | value |
 * |---|---|
 * | X-Sluice-Programmed | `true`: served by all responding nodes; `pending`: not yet, or unknown; `false`: left out of the document |
 * | X-Sluice-Lagging | nodes that do not serve the write yet |
 * | X-Sluice-Silent | nodes left out of the wait, because they have not responded for 2 s |
 * | X-Sluice-Problem | why a resource is not served, or why the state is unknown |
 */
export function programmedHeaders(answer: WaitResponse | null): Readonly<Record<string, string>> {
  const { lagging = [], silent = [], problems: [problem] = [] } = answer ?? {};
  const programmed = problem ? "false" : answer?.programmed ? "true" : "pending";
  const sentence = problem
    ? `${problem.kind} ${problem.namespace}/${problem.name}: ${problem.reason}: ${problem.message}`
    : answer
      ? ""
      : "no source reports what the nodes serve";
  const headers = {
    "X-Sluice-Programmed": programmed,
    "X-Sluice-Lagging": programmed === "true" ? "" : lagging.join(", "),
    "X-Sluice-Silent": silent.join(", "),
    "X-Sluice-Problem": sentence,
  };
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === "" ? [] : [[name, safeHeaderValue(value)]])),
  );
}

const MAX_VALUE = 512;

/** Shortens a text, which may contain user input, and replaces characters that are not printable ASCII. */
export const safeHeaderValue = (text: string): string => text.replace(/[^\x20-\x7e]+/g, "?").slice(0, MAX_VALUE);
