/** `sluice trace`: sends a request with a debug token, and shows the decisions of the gateway and their durations. */
import { STATUS_CODES } from "node:http";
import { Agent, request } from "undici";
import { clientSettings } from "../../../settings/commands/client.ts";
import { defineCommand } from "../../command.ts";
import { formatData, formatTable, styledText } from "../../terminal/output.ts";
import { withAdmin } from "../admin-connection.ts";
import { failureOf, givenProxyRequest, type ProxyRequest } from "./given-proxy-request.ts";
import { reportUnanswered, type UnansweredNode } from "./unanswered.ts";

/** The exit code if no node reported its decisions. */
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
  /** Milliseconds from the connection to the head of the response, as the client measures them. */
  readonly milliseconds: number;
  readonly token_accepted: boolean;
  readonly trace_id: string | null;
  readonly timings: readonly ServerTimingMetric[];
  readonly nodes: readonly string[];
  /** The nodes that did not get the token. */
  readonly unanswered: readonly UnansweredNode[];
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
    const { output } = call.given.options;
    const sent = await givenProxyRequest(call.given);
    const granted = await withAdmin(call, (admin) => admin.post<GrantedToken>("/debug-tokens", { lifetime: LIFETIME }));
    const traced = await sendTraced(granted, sent);
    // If the token was not accepted, the output itself names the nodes that do not know it.
    if (traced.token_accepted) reportUnanswered(call.log, "it does not know the token")(granted.unanswered);
    call.print(output === "yaml" || output === "json" ? formatData(output, traced) : traceText(traced));
    return traced.token_accepted ? 0 : NOT_ACCEPTED;
  },
});

async function sendTraced(
  { header, token, nodes, unanswered }: GrantedToken,
  { url, tls, method, headers: given, body }: ProxyRequest,
): Promise<TracedResponse> {
  const dispatcher = new Agent({ connect: tls });
  const headers = { ...given, [header.toLowerCase()]: token };
  const started = performance.now();
  try {
    // A redirect is not followed: its response is the one that the gateway explains.
    const response = await request(url, { method, headers, body, dispatcher, headersTimeout: TIMEOUT });
    const milliseconds = performance.now() - started;
    // If the body were not read, the gateway would log that the client disconnected. A stream may never end.
    await response.body.dump({ limit: BODY_LIMIT, signal: AbortSignal.timeout(BODY_TIMEOUT) }).catch(() => {});
    const traceId = [response.headers["x-sluice-trace-id"]].flat().at(-1);
    return {
      status: response.statusCode,
      milliseconds: Number(milliseconds.toFixed(2)),
      token_accepted: traceId !== undefined,
      trace_id: traceId ?? null,
      // The upstream may have sent metrics too, but the header of the gateway comes last.
      timings: traceId === undefined ? [] : readServerTiming([response.headers["server-timing"]].flat().at(-1) ?? ""),
      nodes,
      unanswered,
    };
  } catch (error) {
    throw failureOf(error as Error, url);
  } finally {
    await dispatcher.destroy();
  }
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

function traceText(traced: TracedResponse) {
  const { status, milliseconds, token_accepted: isAccepted, trace_id, timings, nodes } = traced;
  const line = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  const facts = `Response:  ${styledText(status < 400 ? "green" : "red", line)} after ${milliseconds} ms\n`;
  if (!isAccepted) {
    const sentence = "The debug token was not accepted, so the decisions of the gateway are not known.";
    return `${facts}\n${styledText("yellow", sentence)}\n${refusalText(traced)}Nodes that know the token: ${nodes.join(", ")}\n`;
  }
  const rows = timings.map(({ name, description, duration }) => [
    name,
    description ?? "",
    duration === null ? "" : String(duration),
  ]);
  return `${facts}Trace id:  ${trace_id}\n\n${formatTable([["DECISION OR STEP", "RESULT", "MILLISECONDS"], ...rows])}`;
}

/** Why the server that answered may not know the token. */
function refusalText({ unanswered }: TracedResponse): string {
  if (unanswered.length === 0)
    return (
      "The server that answered is not a node of this installation, or it is a node that started after the token was " +
      "made.\n"
    );
  const names = unanswered.map(({ node, reason }) => `  ${node}: ${reason}\n`).join("");
  return `One of these nodes may have answered, because they did not get the token:\n${names}`;
}
