/** What an explanation needs of the node, and what its plugins count and log. */
import type { ExplainedCounter } from "@sluice/model";
import type { ReasonToRefuse } from "../balance/health-report.ts";
import type { PluginTools, Runtime } from "../compile/runtime.ts";
import type { ProxyLog } from "../proxy/engine.ts";
import type { ProxySettings, StreamListenAddress } from "../proxy/settings.ts";
import { explainedCounter } from "./explained-counter.ts";
import { ExplainedPlugins, type PluginAssumptions } from "./explained-plugins.ts";

export interface ExplainTools extends PluginTools {
  readonly runtime: Runtime;
  readonly settings: ProxySettings;
  readonly reasonToRefuse: ReasonToRefuse;
  /** Whether the engine can send requests of HTTP/1.1 clients to gRPC services. */
  readonly reachesGrpc: boolean;
  /** The node's listeners for connections that are not HTTP. Default: none. */
  readonly streamAddresses?: readonly StreamListenAddress[];
  /** Default: the plugins decide. */
  readonly assumptions?: PluginAssumptions;
}

/** Maximum number of log lines, and of counters. */
const MAX_ENTRIES = 100;
/** Maximum characters of a log line. */
const MAX_LINE = 1000;

export interface StartedExplanation {
  /** To be closed at the end. */
  readonly plugins: ExplainedPlugins;
  readonly counters: readonly ExplainedCounter[];
  readonly lines: readonly string[];
  /** Adds to `lines`. */
  readonly log: ProxyLog;
}

export function startExplanation(tools: ExplainTools): StartedExplanation {
  const { runtime, assumptions } = tools;
  const lines: string[] = [];
  const counters: ExplainedCounter[] = [];
  const plugins = new ExplainedPlugins({
    runtime,
    tools,
    ...(assumptions && { assumptions }),
    activity: {
      logged: (line) => addTo(lines, line.slice(0, MAX_LINE)),
      counted: (plugin, counter, count) =>
        addTo(counters, explainedCounter(runtime.snapshot, { plugin, counter, count })),
    },
  });
  const write = (details: object, message: string) => {
    const { reason, err } = details as { readonly reason?: unknown; readonly err?: unknown };
    addTo(lines, `${message}${(reason ?? err) ? `: ${reason ?? err}` : ""}`.slice(0, MAX_LINE));
  };
  return { plugins, counters, lines, log: { warn: write, error: write } };
}

function addTo<Entry>(list: Entry[], entry: Entry): void {
  if (list.length < MAX_ENTRIES) list.push(entry);
}
