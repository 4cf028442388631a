/** Events of a resource through events.k8s.io/v1: the first of its kind is created, further ones are counted on it. */
import { createHash } from "node:crypto";
import { kindNames } from "../kinds.ts";
import type { Ref, Resource, ResourceClient } from "../resource.ts";
import type { Connection } from "./connection.ts";
import { Fault } from "./fault.ts";
import { pathOf } from "./transport.ts";

export type Told = Parameters<ResourceClient["recordEvent"]>[1];

const events = { apiVersion: "events.k8s.io/v1", plural: "events" };
/** Equal events within this time are one. Events themselves live for an hour. */
const window = 10 * 60_000;
/** Limits of the API. */
const longestNote = 1024;
const longestName = 253;

export interface EventTarget {
  readonly ref: Ref;
  /** `kubectl describe` finds events by uid. Null: it is gone. */
  readonly resource: Resource | null;
}

/** Stateless: the name is made of what is said and of the time window, so that every process counts on the same one. */
export async function recordEvent(
  connection: Connection,
  { ref, resource }: EventTarget,
  told: Told,
  now: Date,
): Promise<void> {
  const uid = resource?.metadata.uid;
  const said = [uid ?? [ref.kind, ref.name], told.type, told.reason, told.message, told.reporter];
  const suffix = createHash("sha256")
    .update(JSON.stringify([...said, Math.floor(now.getTime() / window)]))
    .digest("hex")
    .slice(0, 16);
  const name = `${ref.name.slice(0, longestName - suffix.length - 1).replace(/[.-]+$/, "")}.${suffix}`;
  const { apiVersion, kind } = kindNames[ref.kind];
  try {
    await connection.call({
      method: "POST",
      path: pathOf(events, { namespace: ref.namespace }),
      body: {
        apiVersion: events.apiVersion,
        kind: "Event",
        metadata: { name, namespace: ref.namespace },
        eventTime: microTime(now),
        type: told.type,
        reason: told.reason,
        action: told.reason,
        note: told.message.length > longestNote ? `${told.message.slice(0, longestNote - 1)}…` : told.message,
        reportingController: told.reporter,
        reportingInstance: told.reporter,
        regarding: { apiVersion, kind, namespace: ref.namespace, name: ref.name, uid },
      },
    });
  } catch (error) {
    if (!(error instanceof Fault && error.status.reason === "AlreadyExists")) throw error;
    await count(connection, pathOf(events, { namespace: ref.namespace, name }), now);
  }
}

async function count(connection: Connection, path: string, now: Date): Promise<void> {
  const event = (await connection.call({ method: "GET", path })) as { series?: { count?: number } };
  await connection.call({
    method: "PATCH",
    path,
    contentType: "application/merge-patch+json",
    body: { series: { count: (event.series?.count ?? 1) + 1, lastObservedTime: microTime(now) } },
  });
}

/** metav1.MicroTime takes exactly six fractional digits; toISOString gives three. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
