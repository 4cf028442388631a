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
  /** The number of requests without credentials. */
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
/** Milliseconds for all explanations. */
const TIMEOUT = 3_000;

export async function changedRequests(
  planned: PlannedRuntimes,
  pairs: readonly EntityPair[],
): Promise<ChangedRequests> {
  const snapshots = [planned.before.runtime.snapshot, planned.after.runtime.snapshot];
  const affected = affectedParts(pairs, snapshots);
  const { samples, withoutSamples } = samplesOf(affected, snapshots);
  const identities = new SampleIdentities(affected, snapshots);
  const groups = new Map<string, ChangedRequest>();
  const began = performance.now();
  let explained = 0;
  let isCut = samples.length >= MAX_SAMPLES || identities.isCut;
  for (const sample of samples) {
    const matches = [planned.before, planned.after].map(({ runtime }) => compiledRouteOf(runtime, sample));
    const [before = null, after = null] = matches.map(matchedRoute);
    const isRouted = before?.id !== after?.id || before?.service !== after?.service;
    // Nothing can be compared if no route matches either before or after the writes.
    const isWhole = (before === null) !== (after === null);
    for (const identity of isWhole ? [null] : identities.of(sample, matches, isRouted)) {
      const isLate = explained >= MAX_EXPLAINED || performance.now() - began > TIMEOUT;
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
    sampled: samples.length,
    changed: all.slice(0, MAX_TOLD),
    incomplete: isCut || all.length > MAX_TOLD,
    left_out: withoutSamples
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

interface Samples {
  readonly samples: readonly SampleRequest[];
  /** Names or ids of affected routes. */
  readonly withoutSamples: readonly string[];
}

/** Affected routes are sampled first, because the number of samples is limited. */
function samplesOf(
  { routes, reroutes, consumers, serverNames }: AffectedParts,
  snapshots: readonly Snapshot[],
): Samples {
  const samples = new Map<string, SampleRequest>();
  const withoutSamples = new Set<string>();
  const add = (sample: SampleRequest) => {
    if (samples.size < MAX_SAMPLES) samples.set(JSON.stringify(sample), sample);
  };
  for (const name of serverNames) add(sampleHandshake(name));
  // Both versions of a changed route.
  const all = new Set(snapshots.flatMap((snapshot) => [...snapshot.routes.values()]));
  const isAffected = ({ id }: SnapshotRoute) => routes === null || routes.has(id);
  for (const route of all) {
    if (!isAffected(route)) continue;
    const own = sampleRequestsFor(route);
    for (const sample of own) add(sample);
    if (own.length === 0) withoutSamples.add(route.name ?? route.id);
  }
  // Other routes may lose requests to changed routes, and may identify affected consumers.
  if (reroutes || consumers.size > 0)
    for (const route of all) if (!isAffected(route)) for (const sample of sampleRequestsFor(route)) add(sample);
  return { samples: [...samples.values()], withoutSamples: [...withoutSamples] };
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
