/** Events about a resource through events.k8s.io/v1: the first is created, and repeats increment its count. */
import { createHash } from "node:crypto";
import { kindNames } from "../kinds.ts";
import type { Ref, Resource, ResourceClient } from "../resource.ts";
import { ApiServerError } from "./api/api-server-error.ts";
import type { Connection } from "./api/connection.ts";
import { apiPath } from "./watch/lister-watcher.ts";

export type EventContent = Parameters<ResourceClient["recordEvent"]>[1];

const events = { apiVersion: "events.k8s.io/v1", plural: "events" };
/** Milliseconds. Equal events within this window are one. Kubernetes keeps Events for an hour. */
const window = 10 * 60_000;
/** Limits of the API. */
const maxNoteLength = 1024;
const maxNameLength = 253;

export interface EventTarget {
  readonly ref: Ref;
  /** `kubectl describe` finds events by uid. Null: the resource is gone. */
  readonly resource: Resource | null;
}

/** Stateless: the name is a hash of the content and the time window, so that all processes count on the same Event. */
export async function recordEvent(
  connection: Connection,
  { ref, resource }: EventTarget,
  told: EventContent,
  now: Date,
): Promise<void> {
  const uid = resource?.metadata.uid;
  const said = [uid ?? [ref.kind, ref.name], told.type, told.reason, told.message, told.reporter];
  const suffix = createHash("sha256")
    .update(JSON.stringify([...said, Math.floor(now.getTime() / window)]))
    .digest("hex")
    .slice(0, 16);
  const name = `${ref.name.slice(0, maxNameLength - suffix.length - 1).replace(/[.-]+$/, "")}.${suffix}`;
  const { apiVersion, kind } = kindNames[ref.kind];
  try {
    await connection.call({
      method: "POST",
      path: apiPath(events, { namespace: ref.namespace }),
      body: {
        apiVersion: events.apiVersion,
        kind: "Event",
        metadata: { name, namespace: ref.namespace },
        eventTime: microTime(now),
        type: told.type,
        reason: told.reason,
        action: told.reason,
        note: told.message.length > maxNoteLength ? `${told.message.slice(0, maxNoteLength - 1)}…` : told.message,
        reportingController: told.reporter,
        reportingInstance: told.reporter,
        regarding: { apiVersion, kind, namespace: ref.namespace, name: ref.name, uid },
      },
    });
  } catch (error) {
    if (!(error instanceof ApiServerError && error.status.reason === "AlreadyExists")) throw error;
    await countRepeat(connection, apiPath(events, { namespace: ref.namespace, name }), now);
  }
}

async function countRepeat(connection: Connection, path: string, now: Date): Promise<void> {
  const event = (await connection.call({ method: "GET", path })) as { series?: { count?: number } };
  await connection.call({
    method: "PATCH",
    path,
    contentType: "application/merge-patch+json",
    body: { series: { count: (event.series?.count ?? 1) + 1, lastObservedTime: microTime(now) } },
  });
}

/** metav1.MicroTime requires exactly six fractional digits; toISOString gives three. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
