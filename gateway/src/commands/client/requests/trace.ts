/** `sluice trace`: sends a request with a debug token, and shows the decisions of the gateway and their durations. */
import { STATUS_CODES } from "node:http";
import { isIP } from "node:net";
import type { GivenOption } from "@sluice/model/command-line";
import { Agent, type Dispatcher, request } from "undici";
import { clientSettings } from "../../../settings/client.ts";
import { version } from "../../../settings/version.ts";
import { CommandError, defineCommand, Misused } from "../../command.ts";
import { formatData, formatTable, styled } from "../../output.ts";
import { readOptionFile, reasonOf, withAdmin } from "../admin-connection.ts";
import { givenBody, givenHeaders } from "./given-request.ts";
import { reportUnanswered, type UnansweredNode } from "./unanswered.ts";

/** No node reported its decisions. */
const NOT_ACCEPTED = 3;

/** Seconds for which the token is valid: long enough for one request. */
const LIFETIME = 60;

/** Milliseconds until the response must begin. */
const TIMEOUT = 60_000;

/** Milliseconds and bytes after which the rest of the response is not read. */
const BODY_TIMEOUT = 5_000;
const BODY_LIMIT = 1024 * 1024;

/** The admin API's response to POST /debug-tokens. */
interface GrantedToken {
  readonly header: string;
  readonly token: string;
  /** The nodes that know the token. */
  readonly nodes: readonly string[];
  readonly unanswered: readonly UnansweredNode[];
}

interface TracedResponse {
  readonly status: number;
  /** From the connection to the head of the response, as the client sees it. */
  readonly milliseconds: number;
  readonly token_accepted: boolean;
  readonly trace_id: string | null;
  readonly timings: readonly ServerTimingMetric[];
  readonly nodes: readonly string[];
}

/** A metric of the header Server-Timing (W3C Server Timing). */
interface ServerTimingMetric {
  readonly name: string;
  /** Milliseconds. */
  readonly duration: number | null;
  readonly description: string | null;
}

export const traceCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const { output } = options;
    const destination = destinationOf(positionals[0] ?? "", options["proxy-url"]);
    const body = options.data === undefined ? null : await givenBody(String(options.data));
    const headers = givenHeaders(options.header);
    const ca = options["proxy-cacert"];
    const tls = {
      ...(typeof ca === "string" && { ca: await readOptionFile(ca) }),
      rejectUnauthorized: options["proxy-insecure"] !== true,
    };
    const granted = await withAdmin(call, (admin) => admin.post<GrantedToken>("/debug-tokens", { lifetime: LIFETIME }));
    reportUnanswered(call.log, "it does not know the token")(granted.unanswered);
    const method = String(options.method ?? (body === null ? "GET" : "POST"));
    const sent = { method: method as Dispatcher.HttpMethod, headers, body };
    const traced = await sendTraced(granted, { destination, tls, sent });
    call.print(output === "yaml" || output === "json" ? formatData(output, traced) : traceText(traced));
    return traced.token_accepted ? 0 : NOT_ACCEPTED;
  },
});

interface Destination {
  readonly url: URL;
  /** The host and port of the request. */
  readonly host: string;
  /** The server name of the TLS handshake; undefined for an address. */
  readonly servername: string | undefined;
}

/** @throws Misused */
function destinationOf(given: string, proxy: GivenOption): Destination {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Misused(`expected a URL such as http://shop.example/cart, not '${given}'`);
  const { host, hostname } = url;
  const servername = isIP(hostname.replace(/^\[|\]$/g, "")) ? undefined : hostname;
  if (proxy === undefined) return { url, host, servername };
  const address = URL.parse(String(proxy));
  if (address === null || !/^https?:$/.test(address.protocol) || address.pathname !== "/" || address.search !== "")
    throw new Misused(`--proxy-url: expected a URL without a path, such as http://127.0.0.1:8000, not '${proxy}'`);
  return { url: new URL(`${url.pathname}${url.search}`, address.origin), host, servername };
}

interface TracedRequest {
  readonly destination: Destination;
  readonly tls: { readonly ca?: string; readonly rejectUnauthorized: boolean };
  readonly sent: {
    readonly method: Dispatcher.HttpMethod;
    readonly headers: Readonly<Record<string, readonly string[]>>;
    readonly body: string | null;
  };
}

async function sendTraced(
  { header, token, nodes }: GrantedToken,
  { destination: { url, host, servername }, tls, sent }: TracedRequest,
): Promise<TracedResponse> {
  const dispatcher = new Agent({ connect: { ...tls, ...(servername !== undefined && { servername }) } });
  const given = Object.fromEntries(
    Object.entries(sent.headers).map(([name, values]) => [
      name.toLowerCase(),
      values.length > 1 ? [...values] : values[0],
    ]),
  );
  const headers = { host, "user-agent": `sluice/${version}`, ...given, [header.toLowerCase()]: token };
  const started = performance.now();
  try {
    // A redirect is not followed: its response is the one that the gateway explains.
    const response = await request(url, { ...sent, headers, dispatcher, headersTimeout: TIMEOUT });
    const milliseconds = performance.now() - started;
    // Without reading, the gateway would log that the client disconnected. A stream may never end.
    await response.body.dump({ limit: BODY_LIMIT, signal: AbortSignal.timeout(BODY_TIMEOUT) }).catch(() => {});
    const traceId = [response.headers["x-sluice-trace-id"]].flat().at(-1);
    return {
      status: response.statusCode,
      milliseconds: Number(milliseconds.toFixed(2)),
      token_accepted: traceId !== undefined,
      trace_id: traceId ?? null,
      // The upstream may have sent metrics too: those of the gateway follow them.
      timings: traceId === undefined ? [] : readServerTiming([response.headers["server-timing"]].flat().at(-1) ?? ""),
      nodes,
    };
  } catch (error) {
    throw failureOf(error as RequestError, url);
  } finally {
    await dispatcher.destroy();
  }
}

interface RequestError extends Error {
  readonly code?: string;
}

function failureOf(error: RequestError, { origin }: URL): CommandError | Misused {
  // undici has not sent anything.
  if (error.code === "UND_ERR_INVALID_ARG") return new Misused(error.message);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(error.code ?? ""))
    return new CommandError(
      `the certificate of ${origin} cannot be verified (${error.code}): name its authorities with --proxy-cacert`,
    );
  return new CommandError(
    `the request to ${origin} failed: ${reasonOf(error)}. If the proxy has another address than the URL, name it with ` +
      "--proxy-url",
  );
}

/** The metrics of a Server-Timing header as the gateway writes it. */
function readServerTiming(header: string): readonly ServerTimingMetric[] {
  const metrics = header.matchAll(/([^\s,;"]+)((?:;\w+=(?:"(?:\\.|[^"\\])*"|[^,;"]*))*)/g);
  return Array.from(metrics, ([, name = "", parameters = ""]) => {
    const duration = /;dur=([\d.]+)/.exec(parameters)?.[1];
    const description = /;desc="((?:\\.|[^"\\])*)"/.exec(parameters)?.[1];
    return {
      name,
      duration: duration === undefined ? null : Number(duration),
      description: description?.replaceAll(/\\(.)/g, "$1") ?? null,
    };
  });
}

function traceText({ status, milliseconds, token_accepted: isAccepted, trace_id, timings, nodes }: TracedResponse) {
  const line = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  const facts = `Response:  ${styled(status < 400 ? "green" : "red", line)} after ${milliseconds} ms\n`;
  if (!isAccepted) {
    const sentence = "The debug token was not accepted, so the decisions of the gateway are not known.";
    return (
      `${facts}\n${styled("yellow", sentence)}\n` +
      "The server that answered is not a node of this installation, or it is a node that started after the token was " +
      `made.\nNodes that know the token: ${nodes.join(", ")}\n`
    );
  }
  const rows = timings.map(({ name, description, duration }) => [
    name,
    description ?? "",
    duration === null ? "" : String(duration),
  ]);
  return `${facts}Trace id:  ${trace_id}\n\n${formatTable([["DECISION OR STEP", "RESULT", "MILLISECONDS"], ...rows])}`;
}
