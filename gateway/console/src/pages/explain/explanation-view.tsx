/** An explanation, drawn as the path of the request through the gateway. */
import type { EntityName, ExplainedPlugin, Explanation, FleetExplanation, RecentRequest } from "@sluice/model";
import type { ComponentChildren, RefObject } from "preact";
import { read } from "../../api/client.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { countWithNoun } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { ScrollArea } from "../../parts/scroll-area.tsx";
import { TableHead } from "../../parts/table-head.tsx";
import { recentFailures } from "../traffic/request-groups.ts";
import { pluginResults, scopeText, verdictOf } from "./explained.ts";

interface ExplanationViewProps {
  readonly explanation: FleetExplanation;
  readonly heading: RefObject<HTMLHeadingElement | null>;
}

export function ExplanationView({ explanation, heading }: ExplanationViewProps) {
  const { connection, handshake, warnings, request, route, service, consumer, plugins, counters } = explanation;
  const { node, upstream, response, log, unknown } = explanation;
  const verdict = verdictOf(explanation);
  const failures = useRecentFailures(upstream && route);
  const applied = plugins.filter(({ result }) => !["overridden", "other protocol", "disabled"].includes(result));
  // A counter names its plugin by the id.
  const nameOfPlugin = (id: string) => plugins.find((plugin) => plugin.id === id)?.name ?? id;
  const idle = plugins.filter((plugin) => !applied.includes(plugin));
  return (
    <section class="explanation" aria-labelledby="verdict">
      <div class={`verdict ${failures === undefined ? verdict.tone : "warning"}`}>
        <h2 id="verdict" ref={heading} tabIndex={-1}>
          {verdict.title}
        </h2>
        <p>{verdict.sentence}</p>
        {failures !== undefined && (
          <p>
            {failures} <Link to={["traffic"]}>Show them</Link>
          </p>
        )}
      </div>
      {warnings.map((warning) => (
        <Notice key={warning} kind="warning">
          {warning}
        </Notice>
      ))}
      <ol class="way">
        {handshake && <HandshakeStop {...handshake} />}
        <Stop tone={connection || request ? "good" : "bad"} title={connection ? "Connection" : "Request"}>
          {connection ? (
            <p class="mono">
              {connection.protocol} to {connection.destination_address ?? "port"} {connection.port}
              {connection.server_name !== null && ` for ${connection.server_name}`}{" "}
              <span class="hint">
                from {connection.client_address}; explained by {nodesText(explanation)}
              </span>
            </p>
          ) : request ? (
            <p class="mono">
              {request.method} {request.scheme}://{request.host}
              {request.path}{" "}
              <span class="hint">
                from {request.client_address}; trusted proxies: {request.trusted_ips.join(", ") || "none"}; explained by{" "}
                {nodesText(explanation)}
              </span>
            </p>
          ) : (
            <p>{unknown === null ? "The head of the request is invalid." : "No listener was found for the URL."}</p>
          )}
        </Stop>
        <Stop tone={route ? "good" : "bad"} title={route ? "Route" : "No route matches"}>
          {route && (
            <p>
              <EntityLink path="routes" entity={route} />
              {service && (
                <>
                  {" "}
                  of the service <EntityLink path="services" entity={service} />
                </>
              )}
            </p>
          )}
          <Candidates explanation={explanation} />
        </Stop>
        {plugins.length > 0 && (
          <Stop tone={toneOfPlugins(plugins)} title="Plugins, in order of priority">
            <ol class="chain">
              {applied.map((plugin) => (
                <PluginItem key={plugin.id} plugin={plugin} />
              ))}
            </ol>
            {idle.length > 0 && (
              <details>
                <summary>{countWithNoun(idle.length, "plugin")} without effect</summary>
                <ol class="chain">
                  {idle.map((plugin) => (
                    <PluginItem key={plugin.id} plugin={plugin} />
                  ))}
                </ol>
              </details>
            )}
          </Stop>
        )}
        {route && !connection && (consumer || plugins.some(({ identifies }) => identifies)) && (
          <Stop tone={consumer ? "good" : "idle"} title={consumer ? "Consumer" : "No consumer"}>
            <p>
              {consumer ? (
                <EntityLink path="consumers" entity={consumer} />
              ) : (
                "The request is not attributed to a consumer."
              )}
            </p>
          </Stop>
        )}
        {counters.length > 0 && (
          <Stop tone={counters.some(({ count, limit }) => count >= limit) ? "bad" : "good"} title="Limits">
            <ul class="meters">
              {counters.map(({ plugin, period, limit, count, counted_by, per_node }) => (
                <li key={`${plugin} ${period}`}>
                  <label>
                    {nameOfPlugin(plugin)}, per {period}: {count.toLocaleString("en")} of {limit.toLocaleString("en")}{" "}
                    used{" "}
                    <span class="hint">
                      {[counted_by, per_node && `on the node ${node} only`].filter(Boolean).join(", ")}
                    </span>
                    <progress value={Math.min(count, limit)} max={limit} />
                  </label>
                </li>
              ))}
            </ul>
          </Stop>
        )}
        {upstream && (
          <Stop tone="good" title={`${upstream.method === null ? "Connection" : "Request"} to the upstream`}>
            <p class="mono">
              {upstream.method} {upstream.url}
            </p>
            {upstream.path_changes.length > 0 && <p class="hint">{upstream.path_changes.join(", ")}</p>}
            <ul class="targets-list">
              {upstream.targets.map(({ address, healthy, weight, refusal }) => (
                <li key={address}>
                  {healthy === null ? (
                    <span class="state">not checked</span>
                  ) : (
                    <span class={`state ${healthy ? "good" : "bad"}`}>{healthy ? "healthy" : "unhealthy"}</span>
                  )}{" "}
                  <span class="mono">{address}</span>
                  {weight !== null && <span class="hint"> weight {weight}</span>}
                  {upstream.target === address && <span class="chip good">chosen</span>}
                  {refusal !== null && <span class="hint"> refused: {refusal}</span>}
                </li>
              ))}
            </ul>
            {upstream.target === null && (
              <p class="hint">The target depends on other requests ({upstream.algorithm}).</p>
            )}
            <Headers title="Headers to the upstream" headers={upstream.headers} />
          </Stop>
        )}
        {response && (
          <Stop tone={response.status >= 400 ? "bad" : "good"} title={`Response ${response.status}`}>
            {response.body !== "" && (
              <ScrollArea label="Body of the response">
                <pre>{response.body}</pre>
              </ScrollArea>
            )}
            <Headers title="Headers of the response" headers={response.headers} />
          </Stop>
        )}
        {unknown !== null && (
          <Stop tone="warning" title="The explanation ends here">
            <p>{unknown}</p>
          </Stop>
        )}
      </ol>
      {log.length > 0 && (
        <section aria-labelledby="log-lines">
          <h3 id="log-lines">The gateway would log</h3>
          <pre>{log.join("\n")}</pre>
        </section>
      )}
    </section>
  );
}

/** The node that explained the request, and how many nodes agree; warnings name the others. */
function nodesText({ node, nodes }: FleetExplanation): string {
  if (nodes.length < 2) return `the node ${node}`;
  const agreeing = nodes.filter(({ unanswered, differences }) => unanswered === null && differences.length === 0);
  return agreeing.length === nodes.length
    ? `the node ${node}, and all ${nodes.length} nodes agree`
    : `the node ${node}; ${agreeing.length} of ${nodes.length} nodes agree`;
}

interface RecentRequestList {
  readonly data: readonly RecentRequest[];
}

/** A sentence about failures of the route that received the request; undefined: none is known. */
function useRecentFailures(route: EntityName | null): string | undefined {
  const { data } = useLoaded(
    async (signal) =>
      route === null ? undefined : read<RecentRequestList>(`requests?route=${encodeURIComponent(route.id)}`, signal),
    { key: route?.id ?? "" },
  );
  return data && recentFailures(data.data, Date.now());
}

const toneOfPlugins = (plugins: readonly ExplainedPlugin[]): string =>
  plugins.some(({ result }) => result === "answered" || result === "failed")
    ? "bad"
    : plugins.some(({ result }) => result === "unknown")
      ? "warning"
      : "good";

const Stop = ({
  tone,
  title,
  children,
}: {
  readonly tone: string;
  readonly title: string;
  readonly children: ComponentChildren;
}) => (
  <li class={`stop ${tone}`}>
    <h3>{title}</h3>
    {children}
  </li>
);

const HandshakeStop = ({ server_name, sni, certificate }: NonNullable<Explanation["handshake"]>) => (
  <Stop tone={certificate ? "good" : "bad"} title={certificate ? "TLS handshake" : "No certificate"}>
    {certificate ? (
      <p>
        <Link to={["entities", "certificates", certificate.id]}>{certificate.subject}</Link> for{" "}
        {certificate.alternative_names.join(", ") || "no names"}, by SNI <span class="mono">{sni}</span>{" "}
        <span class="hint">expires {certificate.not_after}</span>
      </p>
    ) : (
      <p>No SNI matches {server_name ?? "a client without a server name"}.</p>
    )}
  </Stop>
);

const EntityLink = ({ path, entity }: { readonly path: string; readonly entity: EntityName }) => (
  <Link to={["entities", path, entity.id]}>{entity.name ?? entity.id}</Link>
);

const PluginItem = ({ plugin }: { readonly plugin: ExplainedPlugin }) => {
  const { label, tone } = pluginResults[plugin.result];
  return (
    <li>
      <span class={`state ${tone}`}>{label}</span>{" "}
      <Link to={["entities", "plugins", plugin.id]}>{plugin.name ?? plugin.id}</Link>{" "}
      <span class="hint">
        {plugin.label} for {scopeText(plugin)}
      </span>
      {plugin.reason !== null && <p class="reason">{plugin.reason}</p>}
    </li>
  );
};

const outcomes = { chosen: "good", lost: "warning", "no match": "idle" } as const;

/** Number of candidates that are shown at first if none matches. */
const FIRST = 5;

/** The candidates that match, and the others on demand. */
function Candidates({ explanation: { candidates, other_candidates } }: { readonly explanation: Explanation }) {
  const matching = candidates.filter(({ result }) => result !== "no match").length;
  const end = matching === 0 ? FIRST : matching;
  const [first, rest] = [candidates.slice(0, end), candidates.slice(end)];
  const more = other_candidates > 0 ? `, and ${other_candidates.toLocaleString("en")} that are not listed` : "";
  if (first.length === 0) return <p class="hint">There are no routes.</p>;
  return (
    <>
      <CandidateTable label="Candidate routes, in order of precedence" candidates={first} />
      {rest.length > 0 && (
        <details>
          <summary>
            {countWithNoun(rest.length, "other candidate")}
            {more}
          </summary>
          <CandidateTable label="Other candidate routes" candidates={rest} />
        </details>
      )}
    </>
  );
}

interface CandidateTableProps {
  readonly label: string;
  readonly candidates: Explanation["candidates"];
}

const CandidateTable = ({ label, candidates }: CandidateTableProps) => (
  <ScrollArea class="table-scroll" label={label}>
    <table>
      <caption class="sr-only">{label}</caption>
      <TableHead titles={["Route", "Path", "Result", "Reason"]} />
      <tbody>
        {candidates.map(({ route, path, result, reason }) => (
          <tr key={`${route.id} ${path}`}>
            <th scope="row">
              <EntityLink path="routes" entity={route} />
            </th>
            <td class="mono">{path ?? "any"}</td>
            <td>
              <span class={`state ${outcomes[result]}`}>{result}</span>
            </td>
            <td>{reason}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollArea>
);

function Headers({
  title,
  headers,
}: {
  readonly title: string;
  readonly headers: readonly (readonly [string, string])[];
}) {
  if (headers.length === 0) return null;
  return (
    <details>
      <summary>{title}</summary>
      <dl class="pairs">
        {headers.map(([name, value], index) => (
          <div key={`${index} ${name}`}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
