/** The Services, and Upstreams where requests are not simply distributed in turn, for backends of other APIs. */
import type { ServiceExtras, UpstreamExtras } from "@sluice/model";
import type { Resource } from "../resource.ts";
import type { DerivedContent } from "./derived-resource.ts";

/** A port of a core Service, and its part of the requests in relation to the other backends. */
export interface DerivedBackend {
  readonly name: string;
  /** Default: the namespace of the source. */
  readonly namespace?: string;
  readonly port: number;
  readonly weight?: number;
}

export interface ServiceRequest {
  /** The name of the derived Service. */
  readonly name: string;
  readonly backends: readonly [DerivedBackend, ...DerivedBackend[]];
  /** Members of the Service. */
  readonly service: object;
  /** Default: none. */
  readonly serviceExtras?: ServiceExtras;
  /** Members of the Upstream; null: requests are distributed in turn. */
  readonly upstream: object | null;
  /** Default: none. */
  readonly upstreamExtras?: UpstreamExtras;
  /** Whether requests go to the cluster address of the only core Service instead of its endpoints. */
  readonly toClusterAddress?: boolean;
  /** The path of the backends in the source. */
  readonly source: string;
}

export function serviceContents(
  { metadata: { namespace } }: Resource,
  request: ServiceRequest,
  more: Omit<DerivedContent["derived"], "sourcePaths" | "extras"> = {},
): readonly DerivedContent[] {
  const { name, backends, service: members, serviceExtras, upstream, upstreamExtras, source } = request;
  const { toClusterAddress = false } = request;
  const [{ weight: _, ...first }, ...others] = backends;
  const derivedWith = (extras: object = {}): DerivedContent["derived"] => ({
    ...more,
    sourcePaths: { spec: source },
    ...(Object.keys(extras).length > 0 && { extras }),
  });
  const service = (address: object): DerivedContent => ({
    kind: "Service",
    name,
    spec: { ...members, ...address },
    derived: derivedWith(serviceExtras),
  });
  if (toClusterAddress && others.length === 0)
    return [service({ host: `${first.name}.${namespace}.svc`, port: first.port })];
  if (upstream === null && others.length === 0) return [service({ backendRef: first })];
  // A Service refers to an Upstream by its host.
  const host = `${namespace}.${name.replaceAll("~", ".")}`;
  const spec = { name: host, ...upstream, backendRefs: backends };
  return [{ kind: "Upstream", name, spec, derived: derivedWith(upstreamExtras) }, service({ host })];
}
