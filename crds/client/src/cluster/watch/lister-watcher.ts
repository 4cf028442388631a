/** The reflector's transport over a connection, for one kind. */
import { kindNames } from "../../kinds.ts";
import { type Kind, type Resource, UnknownKind, type WatchOptions } from "../../resource.ts";
import { ApiServerError } from "../api/api-server-error.ts";
import type { ClusterConnection } from "../api/connection.ts";
import { apiPath } from "../api/objects.ts";
import { trimObject } from "../api/trim-object.ts";
import type { ListerWatcher, ListPage, WatchEvent } from "./reflector.ts";

export function createListerWatcher(
  connection: ClusterConnection,
  kind: Kind,
  { namespace, labels, fields, bookkeeping = true }: Omit<WatchOptions, "signal">,
): ListerWatcher {
  const selectors = { labelSelector: labels, fieldSelector: fields };
  const path = apiPath(kindNames[kind], { namespace });
  return {
    async list(query, signal): Promise<ListPage> {
      const answer = (await connection
        .call({ method: "GET", path, query: { ...query, ...selectors }, signal })
        .catch(rethrowUnknownKind(kind))) as {
        metadata: { resourceVersion: string; continue?: string };
        items: readonly Partial<Resource>[] | null;
      };
      return {
        items: (answer.items ?? []).map((item) => trimObject(kind, item, { bookkeeping })),
        resourceVersion: answer.metadata.resourceVersion,
        ...(answer.metadata.continue ? { continue: answer.metadata.continue } : {}),
      };
    },
    async watch(query, signal) {
      const selection = { ...query, ...selectors, watch: true, allowWatchBookmarks: true };
      const chunks = await connection
        .open({ method: "GET", path, query: selection, signal })
        .catch(rethrowUnknownKind(kind));
      return watchEvents(chunks, (object) => trimObject(kind, object, { bookkeeping }));
    },
  };
}

/**
 * For `catch`: rethrows the error. A 404 that names no object means that the kind is not served, and becomes
 * `UnknownKind`.
 */
export function rethrowUnknownKind(kind: Kind): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiServerError) || error.code !== 404 || error.isObjectAbsent) throw error;
    const { apiVersion, plural } = kindNames[kind];
    throw new UnknownKind(`the cluster has no ${plural} of ${apiVersion}: are the CRDs installed?`, { cause: error });
  };
}

async function* watchEvents(
  chunks: AsyncIterable<Uint8Array>,
  trimmed: (object: Resource) => Resource,
): AsyncGenerator<WatchEvent> {
  for await (const line of splitLines(chunks)) {
    const event = JSON.parse(line) as WatchEvent;
    yield event.type === "ERROR" ? event : { type: event.type, object: trimmed(event.object) };
  }
}

/** Characters. etcd accepts objects of 1.5 MB by default, so a longer line is not an event. */
const longestLine = 16 * 1024 * 1024;

/** Yields the complete lines of a byte stream, without empty lines. A watch sends one JSON object per line. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const line = parts.join("") + text.slice(0, end);
      parts = [];
      length = 0;
      text = text.slice(end + 1);
      if (line !== "") yield line;
    }
    parts.push(text);
    length += text.length;
    if (length > longestLine) throw new Error(`a watch event is longer than ${longestLine} characters`);
  }
}
