/** `sluice logs`: lists the recent refused, failed and slow requests of all nodes, or follows all requests. */
import { setTimeout as delay } from "node:timers/promises";
import type { RecentRequest, WatchedRequest } from "@sluice/model";
import type { GivenOption } from "@sluice/model/command-line";
import { escapeControlCharacters } from "@sluice/model/serving";
import { clientSettings } from "../../../settings/commands/client.ts";
import { CommandError, defineCommand, UsageError } from "../../command.ts";
import { formatTable, styledText } from "../../terminal/output.ts";
import { type AdminConnection, type ClientCall, withAdmin } from "../admin-connection.ts";
import { givenNumber } from "./given-request.ts";
import { reportUnanswered, type UnansweredNode } from "./unanswered.ts";

/** Milliseconds between two reads of the access log. A watch ends ten seconds after its last read. */
const INTERVAL = 1000;

/** The number of requests that are listed without `--limit`. */
const LISTED = 100;

/** Maximum number of requests that GET /requests returns. */
const MAX_REQUESTS = 1000;

interface RequestsPage<Request> {
  readonly data: readonly (Request & { readonly node: string })[];
  readonly unanswered: readonly UnansweredNode[];
}

interface WatchPage extends RequestsPage<AccessLogRecord> {
  readonly watch: string;
  readonly missed: number;
}

/** Members of the access log that are printed. A request whose head could not be read has no method and path. */
interface AccessLogRecord extends WatchedRequest {
  readonly status: number;
  readonly latencies: { readonly request: number };
  readonly method?: string;
  readonly host?: string;
  readonly path?: string;
  readonly route?: string;
  readonly consumer?: string;
  readonly plugin?: string;
  readonly target?: string;
}

interface Selection {
  /** Query parameters that both endpoints accept, such as `route`. */
  readonly names: Readonly<Record<string, string>>;
  /** A status, such as 404, or the first digit of a status; null: any. */
  readonly status: number | null;
  readonly minLatency: number;
  readonly limit: number | null;
}

export const logsCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const selection = selectionOf(call.given.options);
    await withAdmin(call, (admin) =>
      call.given.options.follow === true ? follow(call, admin, selection) : list(call, admin, selection),
    );
    return undefined;
  },
});

/** @throws UsageError */
function selectionOf(options: Readonly<Record<string, GivenOption>>): Selection {
  const { route, service, consumer, status, limit } = options;
  const names = Object.entries({ route, service, consumer }).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  if (status !== undefined && !/^[1-5](\d\d)?$/.test(String(status)))
    throw new UsageError(`--status: expected a status such as 404, or 4 for 400 to 499, not '${status}'`);
  const least = options["min-latency"];
  const selection = {
    names: Object.fromEntries(names),
    status: status === undefined ? null : Number(status),
    minLatency: least === undefined ? 0 : givenNumber("min-latency", least),
    limit: limit === undefined ? null : givenNumber("limit", limit),
  };
  if (selection.limit === 0) throw new UsageError("--limit: expected at least 1");
  return selection;
}

/** Prints requests as they end, until the limit is reached. */
async function follow({ given, log, print }: ClientCall, admin: AdminConnection, selection: Selection): Promise<void> {
  const { names, status, minLatency, limit } = selection;
  const report = reportUnanswered(log, "its requests are missing");
  const parameters = new URLSearchParams({
    ...names,
    ...(status !== null && { status: String(status) }),
    min_latency: String(minLatency),
  });
  const isJson = given.options.output === "json";
  if (!isJson) print(styledText("bold", columns(followedTitles)));
  for (let left = limit ?? Number.POSITIVE_INFINITY; ; ) {
    const { watch, data, missed, unanswered } = await read<WatchPage>(admin, `/access-log?${parameters}`);
    parameters.set("watch", watch);
    report(unanswered);
    if (missed > 0) log.warn(`${missed} requests are missing, because there were too many: select fewer of them`);
    for (const request of data.slice(0, left)) print(isJson ? jsonLine(request) : columns(followedCells(request)));
    left -= data.length;
    if (left <= 0) return;
    await delay(INTERVAL);
  }
}

const followedTitles = [
  "TIME",
  "NODE",
  "STATUS",
  "METHOD",
  "HOST",
  "PATH",
  "ROUTE",
  "CONSUMER",
  "TARGET",
  "MS",
  "PLUGIN",
];

const followedCells = (request: WatchPage["data"][number]): readonly string[] => [
  request.time,
  request.node,
  String(request.status),
  request.method ?? "-",
  request.host ?? "-",
  request.path ?? "-",
  request.route ?? "-",
  request.consumer ?? "-",
  request.target ?? "-",
  String(request.latencies.request),
  request.plugin ?? "-",
];

/** When a request is printed, those after it are not known yet, so the columns have minimum widths. */
const widths = [24, 15, 6, 7, 20, 30, 16, 12, 15, 9, 0];

const columns = (cells: readonly string[]): string =>
  `${cells
    .map((cell, at) => escapeControlCharacters(cell).padEnd(widths[at] ?? 0))
    .join("  ")
    .trimEnd()}\n`;

/** Prints the recent refused, failed and slow requests, the newest last. */
async function list({ given, log, print }: ClientCall, admin: AdminConnection, selection: Selection): Promise<void> {
  const { names, status, minLatency, limit } = selection;
  const parameters = new URLSearchParams({ ...names, size: String(MAX_REQUESTS) });
  const { data, unanswered } = await read<RequestsPage<RecentRequest>>(admin, `/requests?${parameters}`);
  reportUnanswered(log, "its requests are missing")(unanswered);
  const selected = data
    .filter(
      (request) =>
        (status === null || request.status === status || Math.floor(request.status / 100) === status) &&
        request.latencies.request >= minLatency,
    )
    .slice(0, limit ?? LISTED)
    .toReversed();
  if (given.options.output === "json") {
    for (const request of selected) print(jsonLine(request));
    return;
  }
  const rows = selected.map((request) => [
    request.time,
    request.node,
    String(request.status),
    request.method ?? "-",
    request.host ?? "-",
    request.path ?? "-",
    nameOf(request.route),
    nameOf(request.consumer),
    request.target ?? "-",
    String(request.latencies.request),
    nameOf(request.plugin),
    request.kind,
    request.reason,
  ]);
  print(formatTable([[...followedTitles, "KIND", "REASON"], ...rows]));
  if (rows.length === 0)
    print("\nOnly requests that were refused, failed or slow are listed. With --follow, all requests are printed.\n");
}

const nameOf = (entity: RecentRequest["route"]): string => (entity ? (entity.name ?? entity.id) : "-");

const jsonLine = (request: object): string => `${JSON.stringify(request)}\n`;

/** @throws CommandError if the admin API has no such endpoint. */
async function read<Page>(admin: AdminConnection, path: string): Promise<Page> {
  const page = await admin.read<Page>(path);
  if (page === null) throw new CommandError(`${admin.url} does not list requests: upgrade the admin API`);
  return page;
}
