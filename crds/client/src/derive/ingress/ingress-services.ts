/** The Services, and Upstreams where requests are not simply distributed in turn, for the backends of an Ingress. */
import type { Resource } from "../../resource.ts";
import type { DerivedContent } from "../derived-resource.ts";
import type { IngressEffects } from "./annotations/effects.ts";
import type { CoreServicePort } from "./ingress-entries.ts";

export interface ServiceRequest {
  /** The name of the derived Service. */
  readonly name: string;
  readonly backends: readonly [CoreServicePort, ...(CoreServicePort & { readonly weight: number })[]];
  readonly effects: Pick<IngressEffects, "service" | "upstream" | "toClusterAddress">;
  /** The path of the backend in the Ingress. */
  readonly source: string;
}

export function serviceContents(
  { metadata: { namespace } }: Resource,
  { name, backends, effects, source }: ServiceRequest,
): readonly DerivedContent[] {
  const [first, ...others] = backends;
  const derived = { sourcePaths: { spec: source } };
  const service = (address: object): DerivedContent => ({
    kind: "Service",
    name,
    spec: { ...effects.service, ...address },
    derived,
  });
  if (effects.toClusterAddress && others.length === 0)
    return [service({ host: `${first.name}.${namespace}.svc`, port: first.port })];
  if (effects.upstream === null && others.length === 0) return [service({ backendRef: first })];
  // A Service refers to an Upstream by its host.
  const host = `${namespace}.${name.replaceAll("~", ".")}`;
  const spec = { name: host, ...effects.upstream, backendRefs: backends };
  return [{ kind: "Upstream", name, spec, derived }, service({ host })];
}
