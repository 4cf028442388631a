/** Plans of the admin API: the answer to a write with `?dry_run=1`. */

interface PlannedEntity {
  readonly collection: string;
  readonly id: string;
  readonly name: string | null;
}

interface PlannedRoute {
  readonly id: string;
  readonly name: string | null;
  readonly service: string | null;
}

interface PlannedRequest {
  readonly method: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
}

export interface PlanBody {
  readonly created: readonly (PlannedEntity & { readonly members: Readonly<Record<string, unknown>> })[];
  readonly changed: readonly (PlannedEntity & {
    readonly members: readonly { readonly member: string; readonly before: unknown; readonly after: unknown }[];
  })[];
  readonly deleted: readonly (PlannedEntity & { readonly along: readonly PlannedEntity[] })[];
  readonly requests: {
    readonly sampled: number;
    readonly incomplete: boolean;
    readonly changed: readonly {
      readonly request: PlannedRequest;
      readonly before: PlannedRoute | null;
      readonly after: PlannedRoute | null;
    }[];
  } | null;
}

export const plannedEntityText = ({ collection, id, name }: PlannedEntity): string =>
  `${collection.replaceAll("_", " ").replace(/s$/, "")} ${name ?? id}`;

export const plannedRequestText = ({ method, scheme, host, path }: PlannedRequest): string =>
  `${method} ${scheme}://${host}${path}`;

/** The route and service that answer a request. */
export const answeredBy = (route: PlannedRoute | null): string =>
  route === null ? "no route (404)" : `${route.name ?? route.id}${route.service === null ? "" : ` → ${route.service}`}`;
