/** Events about a resource through events.k8s.io/v1: the first is created, and repeats increment its count. */
import { createHash } from "node:crypto";
import { kindNames } from "../kinds.ts";
import type { Ref, ResourceClient } from "../resource.ts";
import type { ClusterConnection } from "./api/connection.ts";
import { apiPath, createObject, findObject, patchObject } from "./api/objects.ts";

const events = { apiVersion: "events.k8s.io/v1", plural: "events" };
/** Milliseconds. Equal events within this window become one Event. By default, Kubernetes keeps Events for an hour. */
const window = 10 * 60_000;
/** Maximum characters of an Event's note, as limited by the API. */
const maxNoteLength = 1024;
/** Maximum characters of an object's name, as limited by the API. */
const maxNameLength = 253;

/**
 * Stateless: the Event's name contains a hash of its content and the time window, so that all processes increment the
 * same Event.
 *
 * @param uid The resource's uid, by which `kubectl describe` finds Events. Undefined: the resource is gone.
 */
export async function recordEvent(
  connection: ClusterConnection,
  { ref, uid }: { readonly ref: Ref; readonly uid: string | undefined },
  content: Parameters<ResourceClient["recordEvent"]>[1],
): Promise<void> {
  const now = new Date();
  const said = [uid ?? [ref.kind, ref.name], content.type, content.reason, content.message, content.reporter];
  const suffix = createHash("sha256")
    .update(JSON.stringify([...said, Math.floor(now.getTime() / window)]))
    .digest("hex")
    .slice(0, 16);
  const name = `${ref.name.slice(0, maxNameLength - suffix.length - 1).replace(/[.-]+$/, "")}.${suffix}`;
  const { namespace } = ref;
  const { apiVersion, kind } = kindNames[ref.kind];
  const made = await createObject(connection, apiPath(events, { namespace }), {
    apiVersion: events.apiVersion,
    kind: "Event",
    metadata: { name, namespace },
    eventTime: microTime(now),
    type: content.type,
    reason: content.reason,
    action: content.reason,
    note: content.message.length > maxNoteLength ? `${content.message.slice(0, maxNoteLength - 1)}…` : content.message,
    reportingController: content.reporter,
    reportingInstance: content.reporter,
    regarding: { apiVersion, kind, namespace, name: ref.name, uid },
  });
  if (made) return;
  const path = apiPath(events, { namespace, name });
  const event = await findObject<{ readonly series?: { readonly count?: number } }>(connection, path);
  const series = { count: (event?.series?.count ?? 1) + 1, lastObservedTime: microTime(now) };
  await patchObject(connection, path, { series });
}

/** metav1.MicroTime requires exactly six fractional digits; toISOString gives three. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
