/** Targets that fail their health checks, or whose names cannot be resolved. */
import { encodedPath } from "../../api/client.ts";
import { loadEntities } from "../../api/load-entities.ts";
import type { SystemProblem } from "./fleet-status.ts";

/** Maximum number of upstreams that are checked: for each, the admin API asks every node. Topology shows the others. */
const MAX_UPSTREAMS = 50;

/** Requests at a time. */
const CONCURRENCY = 5;

const reasons: Readonly<Record<string, string>> = {
  UNHEALTHY: "It fails the health checks of at least one node, which sends it no requests.",
  DNS_ERROR: "At least one node cannot resolve its name, and sends it no requests.",
};

export async function loadTargetProblems(signal: AbortSignal): Promise<readonly SystemProblem[]> {
  const { entities } = await loadEntities("upstreams", { signal, max: MAX_UPSTREAMS });
  const upstreams = [...entities.slice(0, MAX_UPSTREAMS)];
  const problems: SystemProblem[] = [];
  while (upstreams.length > 0) {
    const some = upstreams.splice(0, CONCURRENCY);
    const found = await Promise.all(
      some.map(async ({ id, name }) => {
        const { entities: targets } = await loadEntities(`upstreams/${encodedPath(id)}/health`, { signal });
        return targets.flatMap(({ target, health }): readonly SystemProblem[] => {
          const detail = reasons[String(health)];
          if (detail === undefined) return [];
          const title = `The target ${target} of ${name} is unhealthy`;
          const cure = "Check that the server runs and that the nodes reach it; or delete the target.";
          return [{ severity: "error", title, detail, cure, at: ["entities", "upstreams", id] }];
        });
      }),
    );
    problems.push(...found.flat());
  }
  return problems;
}
