/** The reflector's transport over a connection, for one kind. */
import { type KindNames, kindNames } from "../kinds.ts";
import type { Kind, Resource } from "../resource.ts";
import type { Connection } from "./connection.ts";
import { lines } from "./lines.ts";
import type { Page, Transport, WatchEvent } from "./reflector.ts";
import { trim } from "./trim.ts";

/** The path of a kind's resources: all of them, those of a namespace, or one. */
export function pathOf(
  { apiVersion, plural }: Pick<KindNames, "apiVersion" | "plural">,
  at: { namespace?: string; name?: string } = {},
): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const namespace = at.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(at.namespace)}`;
  const name = at.name === undefined ? "" : `/${encodeURIComponent(at.name)}`;
  return `${root}${namespace}/${plural}${name}`;
}

export function createTransport(
  connection: Connection,
  kind: Kind,
  { namespace, labels }: { namespace?: string; labels?: string },
): Transport {
  const path = pathOf(kindNames[kind], { namespace });
  return {
    async list(query, signal): Promise<Page> {
      const answer = (await connection.call({
        method: "GET",
        path,
        query: { ...query, labelSelector: labels },
        signal,
      })) as { metadata: { resourceVersion: string; continue?: string }; items: readonly Partial<Resource>[] | null };
      return {
        items: (answer.items ?? []).map((item) => trim(kind, item)),
        resourceVersion: answer.metadata.resourceVersion,
        ...(answer.metadata.continue ? { continue: answer.metadata.continue } : {}),
      };
    },
    async watch(query, signal) {
      const chunks = await connection.open({
        method: "GET",
        path,
        query: { ...query, labelSelector: labels, watch: true, allowWatchBookmarks: true },
        signal,
      });
      return events(kind, chunks);
    },
  };
}

async function* events(kind: Kind, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  for await (const line of lines(chunks)) {
    const event = JSON.parse(line) as WatchEvent;
    yield event.type === "ERROR" ? event : { type: event.type, object: trim(kind, event.object) };
  }
}
