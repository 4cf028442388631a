/** Load by wrk: one thread, keep-alive connections, one kind of request. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { GROUPS } from "./sluice.ts";

export interface WrkOptions {
  readonly url: string;
  readonly seconds: number;
  /** The folder for wrk's script and the file of tokens. */
  readonly folder: string;
  /** Default 64. */
  readonly connections?: number;
  /** The body of each request, which is then a POST. Default: GET requests without a body. */
  readonly body?: { readonly bytes: number } | JsonBody;
  /** Mean milliseconds between two requests of a connection. Default: none. */
  readonly pause?: number;
  /**
   * Requests go in turn to this number of routes of `documentWith` (sluice.ts), except the middle one, whose path is
   * /api. Default: all requests go to the URL.
   */
  readonly spread?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bearer tokens; each request sends the next token. Default: none. */
  readonly tokens?: readonly string[];
}

interface JsonBody {
  readonly json: string;
  /** Whether `"NUMBER"` in the text is replaced by another number in each request. */
  readonly numbered?: true;
}

export interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
  /** Connections that failed, broke or timed out, and responses with status 400 and above. */
  readonly failures: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const bytesBody = (bytes: number) => [`wrk.body = string.rep("x", ${bytes})`];
/** Lua's long brackets accept any text except their own end. */
const jsonBody = (json: string) => ['wrk.headers["content-type"] = "application/json"', `wrk.body = [==[${json}]==]`];

const script = ({ body, pause, spread, headers = {}, tokens }: WrkOptions, tokenFile: string): string =>
  [
    'wrk.headers["Host"] = "bench.test"',
    'wrk.headers["apikey"] = "key-5"',
    ...Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = [==[${value}]==]`),
    ...(body ? ['wrk.method = "POST"', ...("json" in body ? jsonBody(body.json) : bytesBody(body.bytes))] : []),
    ...(pause === undefined ? [] : [`function delay() return math.random(0, ${2 * pause}) end`]),
    ...(spread === undefined
      ? []
      : [
          "local at = 0",
          "function request()",
          `  at = (at + 1) % ${spread}`,
          `  if at == ${Math.floor(spread / 2)} then at = at + 1 end`,
          `  return wrk.format(nil, string.format("/group-%d/route-%d", at % ${GROUPS}, at))`,
          "end",
        ]),
    ...(body && "json" in body && body.numbered === true
      ? [
          "local number = 0",
          "function request()",
          "  number = number + 1",
          `  return wrk.format(nil, nil, nil, (string.gsub(wrk.body, '"NUMBER"', number)))`,
          "end",
        ]
      : []),
    ...(tokens === undefined
      ? []
      : [
          "local tokens, at = {}, 0",
          `for line in io.lines("${tokenFile}") do tokens[#tokens + 1] = line end`,
          "function request()",
          "  at = at % #tokens + 1",
          '  wrk.headers["Authorization"] = tokens[at]',
          "  return wrk.format()",
          "end",
        ]),
    "function done(summary, latency)",
    "  local e = summary.errors",
    "  local failures = e.connect + e.read + e.write + e.status + e.timeout",
    '  io.write(string.format("RESULT %d %d %d %d %d\\n",',
    "    summary.requests, summary.duration, failures, latency:percentile(50), latency:percentile(99)))",
    "end",
    "",
  ].join("\n");

/** Rejects when wrk is missing or cannot connect. */
export async function runWrk(options: WrkOptions): Promise<WrkResult> {
  const { url, seconds, folder, connections = 64 } = options;
  const file = join(folder, "wrk.lua");
  const tokenFile = join(folder, "tokens.txt");
  if (options.tokens) writeFileSync(tokenFile, options.tokens.map((token) => `Bearer ${token}\n`).join(""));
  writeFileSync(file, script(options, tokenFile));
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s", "-s", file, url];
  const wrk = await startProcess(await obtainTool("wrk"), args, { name: "wrk" });
  await wrk.ended();
  const line = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(wrk.output());
  if (!line) throw new Error(`wrk reported no result for ${url}:\n${wrk.tail()}`);
  const [requests = 0, lasted = 0, failures = 0, p50 = 0, p99 = 0] = line.slice(1).map(Number);
  return { requests, seconds: lasted / 1e6, failures, p50: p50 / 1000, p99: p99 / 1000 };
}
