/** A DNS zone in memory for external-dns, which changes its records through the HTTP API of a webhook provider. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

interface DnsRecord {
  readonly dnsName: string;
  readonly recordType: string;
  readonly targets: readonly string[];
}

interface Changes {
  readonly create?: readonly DnsRecord[];
  readonly updateNew?: readonly DnsRecord[];
  readonly delete?: readonly DnsRecord[];
}

export interface DnsZone {
  readonly url: string;
  /** Each record as `<name> <type> <targets>`, sorted. */
  records(): readonly string[];
  close(): void;
}

const CONTENT_TYPE = "application/external.dns.webhook+json;version=1";

export async function startDnsZone(): Promise<DnsZone> {
  const records = new Map<string, DnsRecord>();
  const keyOf = ({ dnsName, recordType }: DnsRecord) => `${dnsName} ${recordType}`;
  async function answerTo(request: IncomingMessage): Promise<unknown> {
    if (request.url === "/adjustendpoints") return json(request);
    // The domain filter is empty: the zone takes every name.
    if (request.url !== "/records") return {};
    if (request.method === "GET") return [...records.values()];
    const { create = [], updateNew = [], delete: deleted = [] } = (await json(request)) as Changes;
    for (const record of deleted) records.delete(keyOf(record));
    for (const record of [...create, ...updateNew]) records.set(keyOf(record), record);
    return undefined;
  }
  const server = createServer(async (request, response) => {
    const answer = await answerTo(request);
    response.writeHead(answer === undefined ? 204 : 200, { "content-type": CONTENT_TYPE });
    response.end(answer === undefined ? undefined : JSON.stringify(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    records: () =>
      [...records.values()].map((record) => `${keyOf(record)} ${record.targets.toSorted().join(" ")}`).toSorted(),
    close: () => server.close(),
  };
}
