/** `sluice top`: rates, errors and latencies of the last ten seconds, redrawn on a terminal. */
import { setTimeout as delay } from "node:timers/promises";
import { clientSettings } from "../../../settings/commands/client.ts";
import { CommandError, defineCommand } from "../../command.ts";
import { formatData, formatTable, styledText } from "../../terminal/output.ts";
import { redrawnText } from "../../terminal/progress.ts";
import { type AdminConnection, withAdmin } from "../admin-connection.ts";
import { givenNumber } from "./given-request.ts";
import type { UnansweredNode } from "./unanswered.ts";

/** Requests per second; latencies in milliseconds. */
interface Rates {
  readonly requests: number;
  readonly client_errors: number;
  readonly server_errors: number;
  readonly refused: number;
  readonly latencies: Readonly<Record<"p50" | "p95" | "p99", number | null>>;
}

interface TrafficRow extends Rates {
  readonly id: string;
  readonly name: string | null;
  /** Only operations have this member and the next three. */
  readonly type?: string;
  /** The first digits of the hash of the document; empty: the document is not known. */
  readonly hash?: string;
  readonly service?: { readonly id: string; readonly name: string | null } | null;
  readonly failed?: number;
}

/** The admin API's response to GET /traffic. */
interface TrafficPage {
  readonly seconds: number;
  readonly total: Rates;
  readonly data: readonly TrafficRow[];
  readonly nodes: readonly { readonly node: string }[];
  readonly unanswered: readonly UnansweredNode[];
}

/** Lines of a terminal that does not report its size. */
const ROWS = 24;

const titles: Readonly<Record<string, string>> = {
  routes: "ROUTE",
  services: "SERVICE",
  consumers: "CONSUMER",
  operations: "OPERATION",
};

/** Columns that only operations have. */
const operationTitles = ["DOCUMENT", "TYPE", "SERVICE", "FAILED/S"] as const;

export const topCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { by, interval, once, output, size } = call.given.options;
    const subject = String(by);
    const milliseconds = givenNumber("interval", interval, { minimum: 1 }) * 1000;
    const parameters = new URLSearchParams({ by: subject, size: String(givenNumber("size", size)) });
    await withAdmin(call, async (admin) => {
      const read = () => readTraffic(admin, parameters);
      if (output === "yaml" || output === "json") return call.print(formatData(output, await read()));
      if (once === true || !process.stdout.isTTY) return call.print(trafficText(await read(), subject));
      for (let drawn = ""; ; ) {
        const lines = trafficText(await read(), subject).split("\n");
        const text = lines.slice(0, (process.stdout.rows || ROWS) - 1).join("\n");
        call.print(redrawnText(drawn, text));
        drawn = text;
        await delay(milliseconds);
      }
    });
    return undefined;
  },
});

/** @throws CommandError if the admin API has no such endpoint. */
async function readTraffic(admin: AdminConnection, parameters: URLSearchParams): Promise<TrafficPage> {
  const page = await admin.read<TrafficPage>(`/traffic?${parameters}`);
  if (page === null) throw new CommandError(`${admin.url} does not count requests: upgrade the admin API`);
  return page;
}

function trafficText({ seconds, total, data, nodes, unanswered }: TrafficPage, subject: string): string {
  const all = nodes.length + unanswered.length;
  const answered = unanswered.length === 0 ? String(all) : `${nodes.length} of ${all}`;
  const count = `${answered} ${all === 1 ? "node" : "nodes"}`;
  const isOperation = subject === "operations";
  const rows = data.map((row) => [row.name ?? row.id, ...(isOperation ? operationCells(row) : []), ...cellsOf(row)]);
  const header = [
    titles[subject] ?? subject,
    ...(isOperation ? operationTitles : []),
    ...["REQUESTS/S", "4XX/S", "5XX/S", "REFUSED/S", "P50 MS", "P95 MS", "P99 MS"],
  ];
  const missing = unanswered.map(({ node, reason }) => `${styledText("red", `No answer from ${node}:`)} ${reason}\n`);
  return (
    `The last complete ${seconds} seconds on ${count}:\n` +
    formatTable([
      header,
      ["(all requests)", ...(isOperation ? operationTitles.map(() => "-") : []), ...cellsOf(total)],
      ...rows,
    ]) +
    missing.join("")
  );
}

const operationCells = ({ type = "", hash = "", service, failed = 0 }: TrafficRow): readonly string[] => [
  hash || "-",
  type,
  service?.name ?? service?.id ?? "-",
  failed.toFixed(1),
];

const cellsOf = ({ requests, client_errors, server_errors, refused, latencies }: Rates): readonly string[] => [
  ...[requests, client_errors, server_errors, refused].map((rate) => rate.toFixed(1)),
  ...[latencies.p50, latencies.p95, latencies.p99].map((duration) => (duration === null ? "-" : duration.toFixed(1))),
];
