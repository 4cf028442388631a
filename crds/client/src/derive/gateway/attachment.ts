/** Decides to which listeners a route attaches, and for which hosts (Gateway API, "AllowedRoutes" and "Hostname"). */
import type { StreamProtocol } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import type { DerivedGateway, GatewayListener } from "./derive-gateway.ts";
import {
  type Finding,
  fails,
  GATEWAY_API,
  type ParentReference,
  type RouteKind,
  streamOf,
  succeeds,
  withArticle,
} from "./gateway-api.ts";
import { selectsLabels } from "./label-selector.ts";

export interface AttachedListener {
  /** The name in the document. */
  readonly id: string;
  /** The port that clients use. */
  readonly port: number;
  /** The protocol of a listener that is not for HTTP; undefined: it is for HTTP. */
  readonly stream: StreamProtocol | undefined;
  /** The hosts of the route on this listener; undefined: any host. */
  readonly hosts: readonly (string | undefined)[];
}

export interface Attachment {
  readonly accepted: Finding;
  readonly listeners: readonly AttachedListener[];
}

export interface AttachingRoute {
  readonly kind: RouteKind;
  readonly namespace: string;
  readonly hostnames: readonly string[];
  /** The labels of the route's namespace; undefined: they are unknown, and no selector matches. */
  readonly namespaceLabels: () => Readonly<Record<string, string>> | undefined;
}

/** Whether a parent of a route is a Gateway. */
export const isGatewayRef = ({ group = GATEWAY_API, kind = "Gateway" }: ParentReference): boolean =>
  group === GATEWAY_API && kind === "Gateway";

/** The result of attaching a route to the Gateway that a parent reference names. */
export function attach(
  route: AttachingRoute,
  { sectionName, port }: ParentReference,
  { gateway, listeners }: DerivedGateway,
): Attachment {
  const named = listeners.filter(
    ({ listener }) =>
      (sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port),
  );
  if (named.length === 0) return refused("NoMatchingParent", `no listener has ${describe({ sectionName, port })}`);
  const open = named.filter((one) => one.kinds.includes(route.kind) && allowsNamespace(one, gateway, route));
  if (open.length === 0)
    return refused(
      "NotAllowedByListeners",
      `allowedRoutes of ${namesOf(named)} does not allow ${withArticle(route.kind)} of the namespace ${route.namespace}` +
        (named.some((one) => needsLabels(one)) && !route.namespaceLabels() ? UNKNOWN_LABELS : ""),
    );
  const attached = open.flatMap(({ id, listener }): readonly AttachedListener[] => {
    const hosts = commonHosts(listener.hostname?.toLowerCase(), route.hostnames);
    return hosts.length === 0 ? [] : [{ id, hosts, port: listener.port, stream: streamOf(listener) }];
  });
  if (attached.length === 0)
    return refused("NoMatchingListenerHostname", `spec.hostnames has no host of ${namesOf(open)}`);
  return { accepted: succeeds("Accepted"), listeners: attached };
}

const refused = (reason: string, message: string): Attachment => ({ accepted: fails(reason, message), listeners: [] });

const describe = ({ sectionName, port }: Pick<ParentReference, "sectionName" | "port">): string =>
  [sectionName !== undefined && `the name ${sectionName}`, port !== undefined && `the port ${port}`]
    .filter((part) => part !== false)
    .join(" and ");

const namesOf = (listeners: readonly GatewayListener[]): string =>
  `the ${listeners.length === 1 ? "listener" : "listeners"} ${listeners.map(({ listener }) => listener.name).join(", ")}`;

const needsLabels = ({ listener }: GatewayListener): boolean => listener.allowedRoutes?.namespaces?.from === "Selector";

const UNKNOWN_LABELS =
  ", whose labels are unknown: selectors need an operator with the right to list and watch Namespaces";

function allowsNamespace({ listener }: GatewayListener, gateway: Resource, route: AttachingRoute): boolean {
  const { from = "Same", selector } = listener.allowedRoutes?.namespaces ?? {};
  switch (from) {
    case "All":
      return true;
    case "Same":
      return route.namespace === gateway.metadata.namespace;
    case "Selector": {
      const labels = route.namespaceLabels();
      return selector !== undefined && labels !== undefined && selectsLabels(selector, labels);
    }
    default:
      return false;
  }
}

/** The hosts that both a listener and a route have; of a wildcard and a host that it covers, the more specific one. */
function commonHosts(listener: string | undefined, route: readonly string[]): readonly (string | undefined)[] {
  if (route.length === 0) return [listener];
  const hosts = route.map((host) => host.toLowerCase());
  if (listener === undefined) return [...new Set(hosts)];
  return [...new Set(hosts.flatMap((host) => commonHost(listener, host) ?? []))];
}

function commonHost(one: string, other: string): string | undefined {
  if (one === other || covers(one, other)) return other;
  return covers(other, one) ? one : undefined;
}

/** `*.example.com` covers `a.example.com`, `a.b.example.com` and `*.b.example.com`, and not `example.com`. */
const covers = (wildcard: string, host: string): boolean =>
  wildcard.startsWith("*.") && host.endsWith(wildcard.slice(1)) && host !== wildcard;
