/** Routes grouped by service, with the places where requests go, and the layout of the groups. */
import type { EntityRecord } from "../../api/load-entities.ts";

export interface TopologyRoute {
  readonly id: string;
  readonly name: string;
  /** Methods, hosts and paths, as one line. */
  readonly match: string;
  readonly priority: number;
}

export interface TopologyGroup {
  /** The id of the service; empty for routes without a service. */
  readonly id: string;
  readonly name: string;
  /** Where requests go: `http://127.0.0.1:9000`. */
  readonly url: string;
  readonly isEnabled: boolean;
  /** Null: the service names a host, not an upstream. */
  readonly upstream: TopologyUpstream | null;
  readonly routes: readonly TopologyRoute[];
  /** Lower-case texts that a search looks into. */
  readonly searched: string;
}

export interface TopologyUpstream {
  readonly id: string;
  readonly name: string;
  /** Whether passive health checks count responses with a server error. */
  readonly countsFailures: boolean;
}

export interface TopologyEntities {
  readonly routes: readonly EntityRecord[];
  readonly services: readonly EntityRecord[];
  readonly upstreams: readonly EntityRecord[];
}

/** Orders `route-9` before `route-10`. */
export const byNumber = new Intl.Collator("en", { numeric: true });

export function groupByService({ routes, services, upstreams }: TopologyEntities): readonly TopologyGroup[] {
  const upstreamByName = new Map(upstreams.map((upstream) => [String(upstream.name), upstream]));
  const routesOf = Map.groupBy(routes, (route) => String((route.service as { readonly id?: string } | null)?.id ?? ""));
  const groups = services.map((service): TopologyGroup => {
    const upstream = upstreamByName.get(String(service.host));
    const url = `${service.protocol}://${service.host}${upstream ? "" : `:${service.port}`}${service.path ?? ""}`;
    return groupOf(String(service.name ?? service.id), routesOf.get(service.id) ?? [], {
      id: service.id,
      url,
      isEnabled: service.enabled !== false,
      upstream: upstream ? upstreamOf(upstream) : null,
    });
  });
  const loose = routesOf.get("") ?? [];
  const rest = { id: "", url: "A plugin answers their requests.", isEnabled: true, upstream: null };
  return loose.length === 0 ? groups : [...groups, groupOf("Routes without a service", loose, rest)];
}

function upstreamOf({ id, name, healthchecks }: EntityRecord): TopologyUpstream {
  const { passive } = Object(healthchecks) as {
    readonly passive?: { readonly unhealthy?: { readonly http_failures?: number } };
  };
  return { id, name: String(name), countsFailures: (passive?.unhealthy?.http_failures ?? 0) > 0 };
}

function groupOf(
  name: string,
  entities: readonly EntityRecord[],
  rest: Omit<TopologyGroup, "name" | "routes" | "searched">,
): TopologyGroup {
  const routes = entities
    .map(routeOf)
    .sort(
      (one, other) =>
        other.priority - one.priority ||
        other.match.length - one.match.length ||
        byNumber.compare(one.name, other.name),
    );
  const texts = [name, rest.url, ...routes.flatMap((route) => [route.name, route.match])];
  return { ...rest, name, routes, searched: texts.join("\n").toLowerCase() };
}

const textOf = (value: unknown, separator: string): string => (Array.isArray(value) ? value.join(separator) : "");

/** The ends of connections, as a route matches them. */
const endsOf = (value: unknown): string =>
  Array.isArray(value) ? value.map(({ ip, port }) => [ip ?? "port", port ?? ""].join(" ").trim()).join(", ") : "";

/** What a route matches; empty: every request. */
function matchOf({ protocols, methods, hosts, paths, snis, sources, destinations }: EntityRecord): string {
  const isForConnections = ["tcp", "tls", "tls_passthrough"].some((one) =>
    textOf(protocols, " ").split(" ").includes(one),
  );
  if (!isForConnections)
    return [textOf(methods, ","), `${textOf(hosts, ", ")}${textOf(paths, ", ")}`]
      .filter((part) => part !== "")
      .join(" ");
  const [from, to] = [endsOf(sources), endsOf(destinations)];
  const ends = [from && `from ${from}`, to && `to ${to}`];
  return [textOf(protocols, ", "), textOf(snis, ", "), ...ends].filter((part) => part !== "").join(" ");
}

function routeOf(entity: EntityRecord): TopologyRoute {
  const { id, name, regex_priority } = entity;
  return {
    id,
    name: typeof name === "string" ? name : id,
    match: matchOf(entity) || "every request",
    priority: typeof regex_priority === "number" ? regex_priority : 0,
  };
}

/** The groups that contain the text. A group whose service does not contain the text keeps only the routes that do. */
export function filterGroups(groups: readonly TopologyGroup[], text: string): readonly TopologyGroup[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return groups;
  return groups.flatMap((group) => {
    if (!group.searched.includes(wanted)) return [];
    if (`${group.name}\n${group.url}`.toLowerCase().includes(wanted)) return [group];
    return [
      {
        ...group,
        routes: group.routes.filter(({ name, match }) => `${name}\n${match}`.toLowerCase().includes(wanted)),
      },
    ];
  });
}

export const ROW_HEIGHT = 46;
export const GROUP_GAP = 14;

/** Number of routes that are drawn for a group before the user asks for more. */
export const INITIAL_ROUTES = 6;

/** Maximum number of routes that are drawn for a group: a search finds the others. */
export const MAX_DRAWN_ROUTES = 200;

export interface DrawnGroup {
  readonly group: TopologyGroup;
  readonly routes: readonly TopologyRoute[];
  /** Routes that are not drawn. */
  readonly hidden: number;
  readonly top: number;
  readonly height: number;
}

interface LayoutOptions {
  /** The ids of the groups that show more routes. */
  readonly expanded: ReadonlySet<string>;
  /** The number of targets that are drawn for the group. */
  readonly targetsOf: (group: TopologyGroup) => number;
  /** Whether routes, service and targets are drawn below each other instead of beside each other. */
  readonly isNarrow: boolean;
}

/** The position of each group in a column. */
export function layoutGroups(
  groups: readonly TopologyGroup[],
  { expanded, targetsOf, isNarrow }: LayoutOptions,
): readonly DrawnGroup[] {
  let top = 0;
  return groups.map((group) => {
    const limit = expanded.has(group.id) ? MAX_DRAWN_ROUTES : INITIAL_ROUTES;
    // The last route takes no more room than the count of the routes that are not drawn.
    const routes = group.routes.length === limit + 1 ? group.routes : group.routes.slice(0, limit);
    const hidden = group.routes.length - routes.length;
    const left = routes.length + (hidden > 0 ? 1 : 0);
    const right = targetsOf(group);
    const rows = isNarrow ? left + right + 1 : Math.max(left, right, 1);
    const drawn = { group, routes, hidden, top, height: rows * ROW_HEIGHT };
    top += drawn.height + GROUP_GAP;
    return drawn;
  });
}

/** The groups between two positions of the scroll container. */
export function visibleGroups(drawn: readonly DrawnGroup[], from: number, to: number): readonly DrawnGroup[] {
  let [low, high] = [0, drawn.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { top, height } = drawn[middle] as DrawnGroup;
    if (top + height < from) low = middle + 1;
    else high = middle;
  }
  const end = drawn.findIndex(({ top }, index) => index >= low && top > to);
  return drawn.slice(low, end === -1 ? drawn.length : end);
}
