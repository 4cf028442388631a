/** An explanation of a request as text for people. */
import { STATUS_CODES } from "node:http";
import {
  type EntityName,
  type ExplainedPlugin,
  type Explanation,
  escapeControlCharacters,
  type FleetExplanation,
  hostAndPort,
} from "@sluice/model/serving";
import { formatTable, styledText } from "../../terminal/output.ts";

interface TextOptions {
  /** Whether all candidates are listed, including those that do not match. */
  readonly all: boolean;
}

export function explanationText(explanation: FleetExplanation, { all }: TextOptions): string {
  const { handshake, request, connection, listener, route, service, consumer } = explanation;
  const { upstream, response, log, unknown, warnings } = explanation;
  const facts = [
    request &&
      `Request:   ${request.method} ${request.scheme}://${request.host}${request.path} from ${request.client_address}`,
    connection && `Connects:  ${connectionText(connection)}`,
    `Node:      ${nodesText(explanation)}`,
    request && `Trusted:   ${trustText(request)}`,
    handshake && `TLS:       ${handshakeText(handshake)}`,
    listener && `Listener:  ${listener}`,
    `Route:     ${nameOf(route)}`,
    `Service:   ${nameOf(service)}`,
    !connection && `Consumer:  ${nameOf(consumer)}`,
  ].filter(Boolean);
  const sections = [
    `${verdictOf(explanation)}\n`,
    warnings.map((warning) => styledText("yellow", `Warning: ${escapeControlCharacters(warning)}\n`)).join(""),
    `${facts.map((fact) => escapeControlCharacters(String(fact))).join("\n")}\n`,
    candidatesText(explanation, all),
    pluginsText(explanation.plugins),
    countersText(explanation),
    upstream && upstreamText(upstream),
    response && responseText(response),
    log.length > 0 &&
      `${styledText("bold", "Log lines of the gateway:")}\n${log.map((line) => `  ${escapeControlCharacters(line)}\n`).join("")}`,
    unknown !== null && `${styledText("bold", "The explanation ends here:")}\n  ${escapeControlCharacters(unknown)}\n`,
  ];
  return sections.filter(Boolean).join("\n");
}

const nameOf = (entity: EntityName | null): string => (entity ? (entity.name ?? entity.id) : "none");

/** The node that explained the request, and how many nodes agree; warnings name the others. */
function nodesText({ node, nodes }: FleetExplanation): string {
  if (nodes.length < 2) return node;
  const agreeing = nodes.filter(({ unanswered, differences }) => unanswered === null && differences.length === 0);
  const agreement =
    agreeing.length === nodes.length
      ? `all ${nodes.length} nodes agree`
      : `${agreeing.length} of ${nodes.length} nodes agree`;
  return `${node} (${agreement})`;
}

function connectionText(connection: NonNullable<Explanation["connection"]>): string {
  const { protocol, client_address, client_port, destination_address, port, server_name } = connection;
  const to = destination_address === null ? `port ${port}` : hostAndPort({ host: destination_address, port });
  const from = client_port === null ? client_address : hostAndPort({ host: client_address, port: client_port });
  return `${protocol} to ${to}${server_name === null ? "" : ` for ${server_name}`} from ${from}`;
}

const trustText = ({ trusted_ips, real_ip_header }: NonNullable<Explanation["request"]>): string =>
  trusted_ips.length === 0
    ? "no proxy (SLUICE_TRUSTED_IPS), so the client's address is that of the connection"
    : `${real_ip_header} of the proxies ${trusted_ips.join(", ")} (SLUICE_TRUSTED_IPS)`;

function handshakeText({ server_name, sni, certificate }: NonNullable<Explanation["handshake"]>): string {
  if (certificate === null) return `no certificate for ${server_name ?? "clients without a server name"}`;
  const { id, subject, alternative_names: names, not_after } = certificate;
  return `certificate ${subject} (${names.join(", ") || "no names"}) by SNI ${sni}, expires ${not_after}, id ${id}`;
}

/** The outcome of the request or connection, as one sentence. */
function verdictOf({ connection, route, upstream, closed, response, unknown, plugins, log }: Explanation): string {
  if (closed) return styledText("red", escapeControlCharacters(`The gateway closes the connection: ${closed.reason}`));
  if (unknown !== null) return styledText("yellow", escapeControlCharacters(`The result is unknown: ${unknown}`));
  if (response) {
    const status = `${response.status} ${STATUS_CODES[response.status] ?? ""}`.trim();
    const by = plugins.find(({ result }) => result === "answered" || result === "failed");
    const [line = null] = log;
    const cause = route === null ? "no route matches" : by ? answerOf(by) : line;
    const answer = `The gateway answers ${status}${cause === null ? "" : `: ${cause}`}`;
    return styledText("red", escapeControlCharacters(answer));
  }
  const what = connection ? "connection" : "request";
  return styledText("green", `The ${what} is forwarded${upstream ? ` to ${upstream.url}` : ""}`);
}

const answerOf = (plugin: ExplainedPlugin): string =>
  `the plugin ${nameOf(plugin)} ${plugin.result}${plugin.reason === null ? "" : `: ${plugin.reason}`}`;

/** Maximum number of candidates that are listed if no route matches. */
const NEAREST = 5;

function candidatesText({ candidates, other_candidates: others }: Explanation, all: boolean): string {
  if (candidates.length === 0) return "There are no routes.\n";
  const matching = candidates.filter(({ result }) => result !== "no match");
  const listed = all ? candidates : matching.length > 0 ? matching : candidates.slice(0, NEAREST);
  const rows = listed.map(({ route, path, result, reason }) => [result, nameOf(route), path ?? "-", reason]);
  const rest = candidates.length - listed.length + others;
  const more =
    rest === 0
      ? ""
      : `${rest} further ${rest === 1 ? "route does" : "routes do"} not match (--size NUMBER lists them)\n`;
  const title = matching.length > 0 ? "Routes, in order of precedence:" : "Routes, the nearest first:";
  return `${styledText("bold", title)}\n${formatTable([["RESULT", "ROUTE", "PATH", "REASON"], ...rows])}${more}`;
}

function pluginsText(plugins: readonly ExplainedPlugin[]): string | false {
  if (plugins.length === 0) return false;
  const rows = plugins.map((plugin) => [
    plugin.result,
    nameOf(plugin),
    plugin.label,
    scopeOf(plugin),
    plugin.reason ?? "",
  ]);
  return `${styledText("bold", "Plugins, in the order in which they run:")}\n${formatTable([["RESULT", "PLUGIN", "NAME", "SCOPE", "REASON"], ...rows])}`;
}

const scopeOf = ({ scope }: ExplainedPlugin): string =>
  Object.entries(scope)
    .map(([kind, entity]) => `${kind} ${nameOf(entity)}`)
    .join(", ") || "all requests";

function countersText({ counters, plugins, node }: FleetExplanation): string | false {
  if (counters.length === 0) return false;
  const named = (id: string) => nameOf(plugins.find((plugin) => plugin.id === id) ?? { id, name: null });
  const rows = counters.map(({ plugin, period, count, limit, counted_by, per_node }) => [
    named(plugin),
    period,
    `${count} of ${limit}`,
    [counted_by, per_node && node !== null && `on the node ${node} only`].filter(Boolean).join(", "),
  ]);
  return `${styledText("bold", "Counters:")}\n${formatTable([["PLUGIN", "PERIOD", "COUNT", ""], ...rows])}`;
}

function upstreamText({
  method,
  url,
  path_changes,
  headers,
  algorithm,
  targets,
  target,
}: NonNullable<Explanation["upstream"]>): string {
  const rows = targets.map(({ address, weight, healthy, refusal }) => [
    address,
    weight === null ? "-" : String(weight),
    healthy === null ? "not checked" : healthy ? "healthy" : "unhealthy",
    [address === target ? "chosen" : "", refusal === null ? "" : `refused: ${refusal}`].filter(Boolean).join(", "),
  ]);
  const lines = headersText(headers);
  const changes = path_changes.length === 0 ? "" : `  path: ${escapeControlCharacters(path_changes.join(", "))}\n`;
  return (
    `${styledText("bold", `${method === null ? "Connection" : "Request"} to the upstream:`)}\n` +
    `  ${method === null ? "" : `${method} `}${url}\n${changes}${lines}\n` +
    `${styledText("bold", `Targets (${algorithm}):`)}\n${formatTable([["TARGET", "WEIGHT", "HEALTH", ""], ...rows])}`
  );
}

function responseText({ status, headers, body }: NonNullable<Explanation["response"]>): string {
  const shown = body
    .trimEnd()
    .split("\n")
    .map((line) => `  ${escapeControlCharacters(line)}\n`)
    .join("");
  return (
    `${styledText("bold", "Response of the gateway:")}\n  ${status} ${STATUS_CODES[status] ?? ""}\n` +
    `${headersText(headers)}${body === "" ? "" : `\n${shown}`}`
  );
}

const headersText = (headers: readonly (readonly [name: string, value: string])[]): string =>
  headers.map(([name, value]) => `  ${escapeControlCharacters(`${name}: ${value}`)}\n`).join("");
