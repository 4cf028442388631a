/**
 * The sample requests that planned writes would affect. Each sample is matched with the runtimes before and after the
 * writes; if its route may be affected, it is explained with both.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Snapshot, SnapshotRoute } from "@sluice/model";
import type { CompiledRoute, Runtime } from "../../compile/runtime.ts";
import { type AffectedParts, affectedParts, type EntityPair } from "./affected-routes.ts";
import { type AnswerDifference, type DifferenceKind, PATH_SENT } from "./answer-differences.ts";
import { differencesFor, type PlannedRuntimes } from "./planned-runtimes.ts";
import { identifiesConsumers, ownersOfCredentials, SAMPLE_CONSUMER, type SampleIdentity } from "./sample-identity.ts";
import {
  describedSample,
  routableSample,
  type SampleRequest,
  sampleHandshake,
  sampleRequestsFor,
} from "./sample-requests.ts";

/** Null: no route matches. */
type MatchedRoute = { readonly id: string; readonly name: string | null; readonly service: string | null } | null;

export interface ChangedRequest {
  readonly kind: DifferenceKind;
  readonly request: SampleRequest & {
    /** Whose credentials the request has; null: it has none. `sample`: a consumer without groups. */
    readonly consumer: string | null;
  };
  readonly before: MatchedRoute;
  readonly after: MatchedRoute;
  readonly differences: readonly AnswerDifference[];
  /** The number of further sample requests with the same differences; rerouted requests have the same routes too. */
  readonly similar: number;
}

export interface ChangedRequests {
  /** The number of requests without credentials, at most 5,000. */
  readonly sampled: number;
  /** At most a hundred. */
  readonly changed: readonly ChangedRequest[];
  /** Whether there may be more changes: not all samples were checked, or not all changes are listed. */
  readonly incomplete: boolean;
  /** Sentences about routes without samples, and about parts of the configuration that the plan does not know. */
  readonly left_out: readonly string[];
}

const MAX_SAMPLES = 5_000;
const MAX_EXPLAINED = 500;
const MAX_TOLD = 100;
const MAX_CONSUMERS = 10;
/** Milliseconds after which no further sample is explained. */
const EXPLAIN_TIMEOUT = 3_000;
/** Milliseconds after which no further sample is made. Each is matched with both runtimes, even if none is explained. */
const SAMPLE_TIMEOUT = 2 * EXPLAIN_TIMEOUT;
/** Milliseconds after which the process serves other requests. */
const SLICE = 20;

export async function changedRequests(
  planned: PlannedRuntimes,
  pairs: readonly EntityPair[],
): Promise<ChangedRequests> {
  const snapshots = [planned.before.runtime.snapshot, planned.after.runtime.snapshot];
  const affected = affectedParts(pairs, snapshots);
  const samples = new Samples(affected, snapshots);
  const identities = new SampleIdentities(affected, snapshots);
  const groups = new Map<string, ChangedRequest>();
  const began = performance.now();
  let explained = 0;
  let isCut = identities.isCut;
  for await (const sample of samples.inSlices()) {
    const matches = [planned.before, planned.after].map(({ runtime }) => compiledRouteOf(runtime, sample));
    const [before = null, after = null] = matches.map(matchedRoute);
    const isRouted = before?.id !== after?.id || before?.service !== after?.service;
    // Nothing can be compared if no route matches either before or after the writes.
    const isWhole = (before === null) !== (after === null);
    for (const identity of isWhole ? [null] : identities.of(sample, matches, isRouted)) {
      const isLate = explained >= MAX_EXPLAINED || performance.now() - began > EXPLAIN_TIMEOUT;
      isCut ||= isLate && !isWhole;
      const isExplained = !isLate && !isWhole;
      if (isExplained) explained++;
      const differences = isExplained ? await differencesFor(describedSample(sample), identity, planned) : [];
      const kind = isRouted ? "routed" : strongestOf(differences);
      if (kind === null) continue;
      const consumer = identity && (identity.consumer?.name ?? SAMPLE_CONSUMER);
      addTo(groups, { kind, request: { ...sample, consumer }, before, after, differences, similar: 0 });
      if (isExplained) await nextTurn();
    }
  }
  const all = kinds.flatMap((kind) => [...groups.values()].filter((group) => group.kind === kind));
  return {
    sampled: samples.count,
    changed: all.slice(0, MAX_TOLD),
    incomplete: isCut || samples.isCut || all.length > MAX_TOLD,
    left_out: [...samples.routesWithout]
      .slice(0, MAX_TOLD)
      .map((name) => `route ${name}: no request was found that its regular expressions match`),
  };
}

const kinds: readonly DifferenceKind[] = ["routed", "answered", "handled"];

const strongestOf = (differences: readonly AnswerDifference[]): DifferenceKind | null =>
  kinds.find((kind) => differences.some((difference) => difference.kind === kind)) ?? null;

function addTo(groups: Map<string, ChangedRequest>, changed: ChangedRequest): void {
  const { kind, request, before, after, differences } = changed;
  // Each request has its own path.
  const compared = differences.map((each) => (each.about === PATH_SENT ? { about: PATH_SENT } : each));
  const key = JSON.stringify([kind, request.consumer, compared, kind === "routed" ? [before, after] : []]);
  const group = groups.get(key);
  groups.set(key, group ? { ...group, similar: group.similar + 1 } : changed);
}

/**
 * The different samples of a plan. Regular expressions make samples slow: deriving one takes a tenth of a millisecond
 * or more, and the router tries all regular expressions for each.
 */
class Samples {
  /** The number of samples so far. */
  count = 0;
  /** Whether a limit ended the samples. */
  isCut = false;
  /** Names or ids of affected routes. */
  readonly routesWithout = new Set<string>();
  readonly #affected: AffectedParts;
  readonly #snapshots: readonly Snapshot[];

  constructor(affected: AffectedParts, snapshots: readonly Snapshot[]) {
    this.#affected = affected;
    this.#snapshots = snapshots;
  }

  /** The slices include the time that the caller spends on each sample. */
  async *inSlices(): AsyncGenerator<SampleRequest> {
    const known = new Set<string>();
    const end = performance.now() + SAMPLE_TIMEOUT;
    let endOfSlice = performance.now() + SLICE;
    for (const sample of this.#perRoute()) {
      this.isCut = known.size >= MAX_SAMPLES || performance.now() > end;
      if (this.isCut) return;
      const key = JSON.stringify(sample);
      if (sample !== null && !known.has(key)) {
        this.count = known.add(key).size;
        yield sample;
      }
      if (performance.now() < endOfSlice) continue;
      await nextTurn();
      endOfSlice = performance.now() + SLICE;
    }
  }

  /** Affected routes are first, because the number of samples is limited. Null: a route has none. */
  *#perRoute(): Generator<SampleRequest | null> {
    const { routes, reroutes, consumers, serverNames } = this.#affected;
    for (const name of serverNames) yield sampleHandshake(name);
    // Both versions of a changed route.
    const all = [...new Set(this.#snapshots.flatMap((snapshot) => [...snapshot.routes.values()]))];
    const isAffected = ({ id }: SnapshotRoute) => routes === null || routes.has(id);
    // Other routes may lose requests to changed routes, and may identify affected consumers.
    const others = reroutes || consumers.size > 0 ? all.filter((route) => !isAffected(route)) : [];
    for (const route of [...all.filter(isAffected), ...others]) {
      const own = sampleRequestsFor(route);
      if (own.length === 0 && isAffected(route)) this.routesWithout.add(route.name ?? route.id);
      yield* own.length === 0 ? [null] : own;
    }
  }
}

const compiledRouteOf = (runtime: Runtime, sample: SampleRequest): CompiledRoute | null =>
  runtime.match(routableSample(sample))?.compiledRoute ?? null;

function matchedRoute(compiled: CompiledRoute | null): MatchedRoute {
  if (compiled === null) return null;
  const { route, upstream } = compiled;
  const service = upstream === null ? null : (upstream.service.name ?? upstream.service.id);
  return { id: route.id, name: route.name, service };
}

/** Which credentials the samples have. */
class SampleIdentities {
  /** Whether more consumers are affected than the samples have credentials of. */
  readonly isCut: boolean;
  readonly #affected: AffectedParts;
  readonly #consumers: readonly SampleIdentity[];
  /** Ids of routes that have samples with credentials. */
  readonly #sampled = new Set<string>();

  constructor(affected: AffectedParts, snapshots: readonly Snapshot[]) {
    this.#affected = affected;
    // A request of a consumer without credentials is the sample without credentials.
    const owners = new Set(snapshots.flatMap(ownersOfCredentials));
    const identified = [...affected.consumers].filter((id) => owners.has(id));
    this.isCut = identified.length > MAX_CONSUMERS;
    this.#consumers = identified.slice(0, MAX_CONSUMERS).flatMap((id) => {
      const consumer = snapshots.map(({ consumers }) => consumers.get(id)).find((found) => found !== undefined);
      return consumer === undefined ? [] : [{ consumer: { id, name: consumer.username ?? id } }];
    });
  }

  /** The credentials with which the sample is explained; null: without any. */
  of(sample: SampleRequest, matches: readonly (CompiledRoute | null)[], isRouted: boolean): (SampleIdentity | null)[] {
    const { routes, serverNames } = this.#affected;
    const found = matches.filter((match) => match !== null);
    const isAffected = isRouted || found.some(({ route }) => routes === null || routes.has(route.id));
    const identities = isAffected || serverNames.has(sample.sni ?? "") ? [null] : [];
    const identifying = found.filter(({ chains }) => chains.candidates(null).some(identifiesConsumers));
    if (identifying.every(({ route }) => this.#sampled.has(route.id))) return identities;
    for (const { route } of identifying) this.#sampled.add(route.id);
    return [...identities, ...(isAffected ? [{ consumer: null }] : []), ...this.#consumers];
  }
}
