/** Loads the targets of the upstreams that are in view, with the health that the nodes report. */
import type { RecentRequest } from "@sluice/model";
import { useEffect, useRef, useState } from "preact/hooks";
import { encodedPath, read } from "../../api/client.ts";
import { loadEntities } from "../../api/load-entities.ts";
import { byNumber } from "./topology-model.ts";

export interface TopologyTarget {
  readonly id: string;
  readonly address: string;
  readonly weight: number;
  readonly health: "healthy" | "unhealthy" | "not checked";
  /** The status of the last server error of the target; null: the nodes remember none. */
  readonly failure: number | null;
}

/** Maximum number of targets that are drawn for a group. */
export const MAX_TARGETS = 12;

const states: Readonly<Record<string, TopologyTarget["health"]>> = {
  HEALTHY: "healthy",
  UNHEALTHY: "unhealthy",
  DNS_ERROR: "unhealthy",
};

const INTERVAL = 10_000;

/** @param wanted The ids of upstreams, separated by commas. */
export function useTargets(wanted: string): ReadonlyMap<string, readonly TopologyTarget[]> {
  const [targets, setTargets] = useState<ReadonlyMap<string, readonly TopologyTarget[]>>(new Map());
  const known = useRef(targets);
  known.current = targets;
  useEffect(() => {
    if (wanted === "") return;
    const abort = new AbortController();
    const load = async (ids: readonly string[]) => {
      const failures = await loadFailures(abort.signal).catch(() => new Map());
      const loaded = await Promise.all(ids.map((id) => loadTargets(id, failures, abort.signal).catch(() => [])));
      if (!abort.signal.aborted)
        setTargets(new Map([...known.current, ...ids.map((id, index) => [id, loaded[index] ?? []] as const)]));
    };
    const ids = wanted.split(",");
    const missing = ids.filter((id) => !known.current.has(id));
    if (missing.length > 0) void load(missing);
    const timer = setInterval(() => !document.hidden && void load(ids), INTERVAL);
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [wanted]);
  return targets;
}

/** By address of a target, the status of its last server error. */
async function loadFailures(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const { data } = await read<{ readonly data: readonly RecentRequest[] }>("requests?kind=failed&size=1000", signal);
  // The newest request comes first, and replaces the others.
  return new Map(data.toReversed().flatMap(({ target, status }) => (target === null ? [] : [[target, status]])));
}

async function loadTargets(
  upstream: string,
  failures: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<readonly TopologyTarget[]> {
  const { entities } = await loadEntities(`upstreams/${encodedPath(upstream)}/health`, { signal });
  return entities
    .map(({ id, target, weight, health }) => ({
      id,
      address: String(target),
      weight: Number(weight),
      health: states[String(health)] ?? "not checked",
      failure: failures.get(String(target)) ?? null,
    }))
    .sort((one, other) => byNumber.compare(one.address, other.address));
}
