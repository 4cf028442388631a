/** The routes that were candidates for a request or a connection. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Explanation, RouteCandidate } from "@sluice/model";
import type { ExplainedRoute, ExplainedRoutes } from "../compile/runtime.ts";
import { idAndNameOf } from "../exchange/entity-name.ts";

/** Milliseconds after which other requests of the worker get their turn. */
const SLICE = 2;

/** @param steps See `explainRoutes` and `explainStream` of the runtime */
export async function explainedRoutes(
  steps: Iterator<undefined, ExplainedRoutes>,
): Promise<Pick<Explanation, "candidates" | "other_candidates">> {
  const { nearest, others } = await inSlices(steps);
  const chosen = nearest.find(({ mismatch }) => mismatch === null);
  return { candidates: nearest.map((route) => candidateOf(route, chosen)), other_candidates: others };
}

/** Completes the steps in pieces, so that they do not block the worker. */
async function inSlices<Result>(steps: Iterator<undefined, Result>): Promise<Result> {
  let began = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - began < SLICE) continue;
    await nextTurn();
    began = performance.now();
  }
}

function candidateOf(candidate: ExplainedRoute, chosen: ExplainedRoute | undefined): RouteCandidate {
  const { path, mismatch, lostBecause } = candidate;
  const route = idAndNameOf(candidate.route);
  if (mismatch !== null) return { route, path, result: "no match", ...mismatch };
  if (candidate === chosen)
    return { route, path, result: "chosen", attribute: null, reason: "it matches, and no route before it does" };
  const reason = `it matches, but the route ${chosen?.route.name ?? chosen?.route.id} takes precedence: ${lostBecause}`;
  return { route, path, result: "lost", attribute: null, reason };
}
