/** Changes as the admin API describes them: in the answer to a write with `?dry_run=1`, and in revisions. */
import { entityTitle, namingOf } from "../api/collections.ts";

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
  /** Whose credentials the request has; null: it has none. */
  readonly consumer: string | null;
}

/** A sample request that would be routed, answered or only handled differently. */
export interface ChangedRequestBody {
  readonly kind: "routed" | "answered" | "handled";
  readonly request: PlannedRequest;
  readonly before: PlannedRoute | null;
  readonly after: PlannedRoute | null;
  readonly differences: readonly { readonly about: string; readonly before: unknown; readonly after: unknown }[];
  /** The number of further requests with the same differences. */
  readonly similar: number;
}

export interface ChangeSummary {
  readonly created: readonly (PlannedEntity & { readonly members: Readonly<Record<string, unknown>> })[];
  readonly changed: readonly (PlannedEntity & {
    readonly members: readonly { readonly member: string; readonly before: unknown; readonly after: unknown }[];
  })[];
  readonly deleted: readonly (PlannedEntity & { readonly along: readonly PlannedEntity[] })[];
}

export interface PlanBody extends ChangeSummary {
  readonly requests: {
    readonly sampled: number;
    readonly incomplete: boolean;
    readonly changed: readonly ChangedRequestBody[];
    /** Sentences about what the samples do not contain. */
    readonly left_out: readonly string[];
  } | null;
}

/** One change, as a union by its kind. */
export type ListedChange = {
  readonly [Change in keyof ChangeSummary]: {
    readonly change: Change;
    readonly entity: ChangeSummary[Change][number];
  };
}[keyof ChangeSummary];

export const listedChanges = ({ created, changed, deleted }: ChangeSummary): readonly ListedChange[] => [
  ...created.map((entity) => ({ change: "created" as const, entity })),
  ...changed.map((entity) => ({ change: "changed" as const, entity })),
  ...deleted.map((entity) => ({ change: "deleted" as const, entity })),
];

/** Tones of changes in lists. */
export const changeTones: Readonly<Record<keyof ChangeSummary, string>> = {
  created: "good",
  changed: "warning",
  deleted: "bad",
};

/** The entity's kind and name. An entity without a name is shown as in lists. */
export const plannedEntityText = ({ collection, id, name, members }: PlannedEntity & { members?: object }): string =>
  `${namingOf(collection).singular} ${name ?? entityTitle(collection, { ...members, id })}`;

export const hasChanges = ({ created, changed, deleted }: ChangeSummary): boolean =>
  created.length + changed.length + deleted.length > 0;

export const plannedRequestText = ({ method, scheme, host, path, consumer }: PlannedRequest): string =>
  `${method} ${scheme}://${host}${path}${consumer === null ? "" : ` with credentials of ${consumer}`}`;

/** What differs, for people; the route first. */
export const differencesOf = ({ kind, before, after, differences }: ChangedRequestBody) => [
  ...(kind === "routed" ? [{ about: "route", before: answeredBy(before), after: answeredBy(after) }] : []),
  ...differences.map((one) => ({ ...one, before: plannedValueText(one.before), after: plannedValueText(one.after) })),
];

const plannedValueText = (value: unknown): string =>
  typeof value === "string" ? value : value === null ? "none" : JSON.stringify(value);

/** The route and service that answer a request. */
const answeredBy = (route: PlannedRoute | null): string =>
  route === null ? "no route (404)" : `${route.name ?? route.id}${route.service === null ? "" : ` → ${route.service}`}`;
