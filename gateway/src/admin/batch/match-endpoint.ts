/** Finds the endpoint of a path, for writes inside a batch. */
import { type AdminEndpoint, endpoints } from "../entities/endpoints.ts";

export interface MatchedEndpoint {
  readonly endpoint: AdminEndpoint;
  readonly params: Readonly<Record<string, string>>;
}

const patterns = endpoints.map((endpoint) => ({ endpoint, steps: endpoint.url.split("/").slice(1) }));

/** Undefined: no such path, or invalid percent-encoding. */
export function matchEndpoint(path: string): MatchedEndpoint | undefined {
  const segments = path.replace(/\/$/, "").split("/").slice(1);
  for (const { endpoint, steps } of patterns) {
    if (steps.length !== segments.length) continue;
    const params: Record<string, string> = {};
    const isMatch = steps.every((step, index) => {
      const segment = segments[index] ?? "";
      if (!step.startsWith(":")) return step === segment;
      const decoded = decode(segment);
      if (decoded === undefined || decoded === "") return false;
      params[step.slice(1)] = decoded;
      return true;
    });
    if (isMatch) return { endpoint, params };
  }
  return undefined;
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
