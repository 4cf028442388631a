/** Derives the Services that receive copies of a rule's requests, and the config of request-mirror. */
import type { Resource } from "../../../resource.ts";
import type { DerivedContent } from "../../derived-resource.ts";
import { backendService } from "../backends/backend-service.ts";
import { type BackendLookups, resolveBackend } from "../backends/backends.ts";
import type { MirrorFilter } from "../filters/mirror.ts";
import type { ConditionFinding, RouteKind } from "../gateway-api.ts";
import type { RulePlugin } from "./rule-effects.ts";

export interface DerivedMirrors {
  readonly contents: readonly DerivedContent[];
  /** request-mirror, or nothing. */
  readonly plugins: readonly RulePlugin[];
  /** For the condition ResolvedRefs. A mirror that cannot be resolved gets no requests. */
  readonly faults: readonly ConditionFinding[];
}

export interface MirrorsRequest {
  readonly mirrors: readonly MirrorFilter[];
  /** Returns the name of the Service for a mirror, by its index. */
  readonly nameOf: (index: number) => string;
  /** The protocol of the mirrors, without TLS. */
  readonly protocol: "http" | "grpc";
}

export function deriveMirrors(
  route: Resource,
  { mirrors, nameOf, protocol }: MirrorsRequest,
  lookups: BackendLookups,
): DerivedMirrors {
  const { namespace } = route.metadata;
  const contents: DerivedContent[] = [];
  const faults: ConditionFinding[] = [];
  const receivers: { readonly service: string; readonly percentage: number }[] = [];
  const requiredServices: string[] = [];
  for (const [index, { ref, percentage, source }] of mirrors.entries()) {
    const place = { kind: route.kind as RouteKind, namespace, path: source };
    const { backend, fault } = resolveBackend(ref, place, lookups);
    if (fault) faults.push(fault);
    if (!backend) continue;
    const name = nameOf(index);
    // The plugin refers to the Service by the name of the entity, which must not depend on the home namespace.
    const entityName = `${namespace}.${name}`;
    const members = { name: entityName };
    // Copies must not use the client certificate that a Gateway has for its backends.
    contents.push(
      ...backendService(route, { name, backends: [backend], protocol, certificate: undefined, members, source }),
    );
    receivers.push({ service: entityName, percentage });
    requiredServices.push(name);
  }
  const [first] = mirrors;
  const config = { mirrors: receivers };
  // An older Service of another namespace may have the name of the entity. It must not receive the copies, so the
  // plugin is not served without its own Services.
  const plugin = { plugin: "request-mirror", config, requiredServices, source: first?.source ?? "" };
  return { contents, plugins: receivers.length > 0 ? [plugin] : [], faults };
}
