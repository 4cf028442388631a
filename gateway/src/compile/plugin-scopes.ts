/**
 * The scopes of plugins: which plugins apply to a route, a consumer and the consumer's groups, and in which order of
 * precedence.
 */
import type { SnapshotRoute } from "@sluice/model";

/** The consumer or consumer group that a plugin is attached to. With neither, the consumer does not matter. */
export interface PluginOwner {
  readonly consumer?: string | undefined;
  readonly consumerGroup?: string | undefined;
}

export type Scopes<Found> = readonly Found[];

/** The scopes of one owner: with route and service, with the route, with the service, and with neither. */
export function scopesOf(
  { id, service }: Pick<SnapshotRoute, "id" | "service">,
  owner: PluginOwner = {},
): Scopes<string> {
  const serviceId = service?.id;
  return [
    scopeKey({ ...owner, route: id, service: serviceId }),
    scopeKey({ ...owner, route: id }),
    scopeKey({ ...owner, service: serviceId }),
    scopeKey(owner),
  ];
}

interface FoundPlugins<Found> {
  /** Plugins of the consumer. */
  readonly own: Scopes<Found>;
  /** Plugins of each group, in the order in which the groups take precedence. */
  readonly ofGroups: readonly Scopes<Found>[];
  /** Plugins without a consumer and without a group. */
  readonly all: Scopes<Found>;
}

/**
 * All scopes, most specific first, in the order of Kong's documentation
 * (docs/reference/kong-compatibility.md#order-and-scope). Route and service together precede the consumer or a group
 * alone.
 */
export function byPrecedence<Found>({ own, ofGroups, all }: FoundPlugins<Found>): Scopes<Found> {
  const [ownBoth, ownRoute, ownService, ownAny] = own;
  const [both, route, service, any] = all;
  const [groupBoth = [], groupRoute = [], groupService = [], groupAny = []] = [0, 1, 2, 3].map((place) =>
    ofGroups.map((scopes) => scopes[place]),
  );
  return [
    ...[ownBoth, ...groupBoth, ownRoute, ownService, ...groupRoute, ...groupService],
    ...[both, ownAny, ...groupAny, route, service, any],
  ] as Scopes<Found>;
}

interface PluginScopeIds extends PluginOwner {
  readonly route?: string | undefined;
  readonly service?: string | undefined;
}

export const scopeKey = ({ route = "", service = "", consumer = "", consumerGroup = "" }: PluginScopeIds): string =>
  `${route}/${service}/${consumer}/${consumerGroup}`;
