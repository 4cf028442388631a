/** Rules for Prometheus: what to record, and when to alert. */

export interface AlertRule {
  /** In CamelCase; also the heading of its section in docs/reference/alerts.md. */
  readonly alert: string;
  /** `critical`: requests fail, or will soon; `warning`: needs an action within days. */
  readonly severity: "critical" | "warning";
  /** How long the condition must hold. */
  readonly for: string;
  readonly expr: string;
  /** One sentence, with Prometheus' templates. */
  readonly summary: string;
  readonly cause: string;
  readonly cure: string;
}

export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface RuleOptions {
  /** The namespace of the installation; null: the rules apply to all series. */
  readonly namespace: string | null;
  /** The share of requests that must succeed, in percent. */
  readonly objective: string;
}

interface Rules {
  readonly recording: readonly RecordingRule[];
  readonly alerts: readonly AlertRule[];
}

/**
 * The windows of the burn rates. Each alert needs a high rate in a long window, and in a short one, which ends the
 * alert soon after its cause: https://sre.google/workbook/alerting-on-slos/#6-multiwindow-multi-burn-rate-alerts.
 */
const burns = {
  fast: [
    { long: "1h", short: "5m", rate: 14.4 },
    { long: "6h", short: "30m", rate: 6 },
  ],
  slow: [
    { long: "1d", short: "2h", rate: 3 },
    { long: "3d", short: "6h", rate: 1 },
  ],
} as const;

const windows = new Set(Object.values(burns).flatMap((all) => all.flatMap(({ long, short }) => [long, short])));

const BUDGET = "sluice:error_budget:ratio";
const ratioOver = (window: string): string => `sluice:http_requests:error_ratio_rate${window}`;

const EXPIRY_LIMIT = "14 * 86400";

export function alertRulesFor({ namespace, objective }: RuleOptions): Rules {
  /** A selector of the installation's series with these further matchers. */
  const series = (name: string, ...matchers: readonly string[]): string => {
    const all = [...(namespace === null ? [] : [`namespace="${namespace}"`]), ...matchers];
    return all.length === 0 ? name : `${name}{${all.join(",")}}`;
  };
  const requests = (window: string, ...matchers: readonly string[]): string =>
    `sum by (namespace) (rate(${series("sluice_http_requests_total", ...matchers)}[${window}]))`;
  const burning = (pairs: (typeof burns)["fast" | "slow"]): string =>
    pairs
      .map(({ long, short, rate }) => {
        const limit = `${rate} * scalar(${series(BUDGET)})`;
        return `(${series(ratioOver(long))} > ${limit} and ${series(ratioOver(short))} > ${limit})`;
      })
      .join(" or ");
  /** Only the leader's view of the nodes counts. */
  const nodes = (state: string): string =>
    `${series("sluice_operator_nodes", `state="${state}"`)} > 0 and ignoring (state) ${series("sluice_operator_term")} > 0`;
  const writes = (outcome: string): string =>
    `sum without (outcome) (increase(${series("sluice_operator_state_writes_total", `outcome="${outcome}"`)}[15m]))`;

  return {
    recording: [
      {
        record: BUDGET,
        expr: `vector(1 - ${objective} / 100)`,
        ...(namespace !== null && { labels: { namespace } }),
      },
      ...Array.from(windows, (window) => ({
        record: ratioOver(window),
        expr: `${requests(window, 'code=~"5.."')} / ${requests(window)}`,
      })),
    ],
    alerts: [
      {
        alert: "SluiceConfigurationRefused",
        severity: "warning",
        for: "5m",
        expr: `${series("sluice_config_last_reload_successful")} == 0`,
        summary: "The node {{ $labels.node_id }} refuses the newest configuration or cannot read it.",
        cause:
          "The last configuration that reached the node is invalid, or the node cannot read its file, its database or " +
          "its saved document. The node serves the last valid configuration.",
        cure:
          "`GET /status` of the node's status listener has the reason in `sluice.trouble`, with line and column for a " +
          "file. Repair the file, the rows or the resource that the reason names. If the nodes and the operator have " +
          "different versions, upgrade the nodes first: an older node refuses a document with a field that it does not " +
          "know.",
      },
      {
        alert: "SluiceNodeLagging",
        severity: "warning",
        for: "5m",
        expr: nodes("lagging"),
        summary: "{{ $value }} nodes do not serve the published configuration.",
        cause: "Some nodes answer the operator, but refuse its document or take a long time to apply it.",
        cure:
          "`GET /status` of the operator names the nodes in `lagging`, with the reason in `trouble`. A node that " +
          "refuses a document is not of the same version as the operator, or lacks a plugin that `SLUICE_PLUGINS` of " +
          "the operator names.",
      },
      {
        alert: "SluiceNodeSilent",
        severity: "critical",
        for: "2m",
        expr: nodes("silent"),
        summary: "{{ $value }} nodes do not answer the operator.",
        cause:
          "The node's process has stopped or hangs, a NetworkPolicy blocks its push listener (port 8005), or node and " +
          "operator do not trust each other's certificates. A silent node serves its last configuration.",
        cure:
          "`GET /status` of the operator names the nodes in `silent`, with the last error in `trouble`. Look at the log " +
          "of the node and at its readiness. After an error about certificates, see SluicePushCertificateExpires.",
      },
      {
        alert: "SluiceCertificateExpires",
        severity: "warning",
        for: "10m",
        expr: `${series("sluice_certificate_expiry_timestamp_seconds")} - time() < ${EXPIRY_LIMIT}`,
        summary: "The certificate of {{ $labels.server_name }} expires in {{ $value | humanizeDuration }}.",
        cause:
          "A Certificate that the gateway serves to clients was not renewed. If the time is negative, it has expired.",
        cure:
          "Renew the certificate, or repair the client that renews it, such as cert-manager. If Sluice orders it, the " +
          "condition Issued of the Certificate or `order` of `GET /certificate-details/ID` has the CA's error message, and " +
          "`sluice_acme_certificate_failures` the number of failed attempts. If the Secret has been renewed already, the " +
          "condition ResolvedRefs of the Certificate has the reason why the new content is not served.",
      },
      {
        alert: "SluiceCertificateOrdersFail",
        severity: "warning",
        for: "5m",
        expr: `${series("sluice_acme_certificate_failures")} >= 3`,
        summary: "The certificate of {{ $labels.certificate }} was not issued after {{ $value }} attempts.",
        cause:
          "A CA did not issue a certificate that Sluice orders, or cannot be reached. If it is the first one, TLS " +
          "handshakes for its names fail; if it is a renewal, the previous certificate is presented until it expires. The " +
          "label `certificate` has the namespace and name of the Certificate, or without a cluster the id of the entity.",
        cure:
          "The condition Issued of the Certificate or `order` of `GET /certificate-details/ID` has the CA's error message, " +
          "and the time of the next attempt. Usually a name does not lead to the gateway: the CA must reach port 80 of " +
          "each name for the challenge http-01, and port 443 for tls-alpn-01.",
      },
      {
        alert: "SluicePushCertificateExpires",
        severity: "critical",
        for: "10m",
        expr:
          `${series("sluice_push_certificate_expiry_timestamp_seconds")} - time() < ${EXPIRY_LIMIT} or ` +
          `${series("sluice_operator_certificate_expiry_timestamp_seconds")} - time() < ${EXPIRY_LIMIT}`,
        summary: "A certificate between operator, nodes and API server expires in {{ $value | humanizeDuration }}.",
        cause:
          "The operator renews its certificates 30 days before they expire, so a renewal has failed. Without valid push " +
          "certificates, nodes get no configuration. Without a valid webhook certificate, the API server stores " +
          "resources unchecked. The metric of a node is about the certificate of its push listener. In the metric of " +
          "the operator, the label `certificate` is `push` or `webhook`.",
        cure:
          "The operator's log has a line `cannot rotate` with the reason, such as a missing permission for the Secret. With " +
          "files (`SLUICE_PUSH_TLS_CERT`), replace the files: the processes read them again. If only a node's " +
          "certificate is old, its mounted Secret was not updated: restart the node.",
      },
      {
        alert: "SluiceErrorBudgetBurnsFast",
        severity: "critical",
        for: "2m",
        expr: burning(burns.fast),
        summary: "So many requests fail that the month's error budget is used up within days.",
        cause:
          "Requests are answered with a status of 500 or more, by the upstream or the gateway. The alert fires if " +
          "the share of such requests is more than 14.4 times the share that the objective allows, over an hour, or more " +
          "than 6 times that share, over six hours. The metric needs the plugin prometheus with `status_code_metrics`.",
        cure:
          '`sum by (route, service, source, code) (rate(sluice_http_requests_total{code=~"5.."}[5m]))` names the routes. ' +
          "If `source` is `service`, the upstream sent the response. If it is `gateway`, the log of a node or " +
          "`POST /explain` has the reason.",
      },
      {
        alert: "SluiceErrorBudgetBurnsSlowly",
        severity: "warning",
        for: "15m",
        expr: burning(burns.slow),
        summary: "More requests fail than the objective allows.",
        cause:
          "The same as SluiceErrorBudgetBurnsFast, with 3 times the allowed share over a day, or the allowed share over " +
          "3 days.",
        cure: "The same as for SluiceErrorBudgetBurnsFast.",
      },
      {
        alert: "SluiceRateLimitCountersFull",
        severity: "warning",
        for: "0m",
        expr: `increase(${series("sluice_rate_limit_counters_replaced_total")}[10m]) > 0`,
        summary: "Counters of rate limits are replaced before their window has ended.",
        cause:
          "The memory of a node holds about a million rate-limit counters. It is full, and new counters replace counters " +
          "of the plugin instance with the most counters. Clients whose counter was replaced are admitted again. The " +
          "usual reason is a limit with long windows by header, path or address, because clients can invent values " +
          "for these.",
        cure:
          "Limit by consumer, or use shorter windows for the plugin whose identifiers clients choose; or count in Redis " +
          "(`policy: redis`).",
      },
      {
        alert: "SluiceNoLeader",
        severity: "critical",
        for: "2m",
        expr: `max by (namespace, job) (${series("sluice_operator_term")}) == 0`,
        summary: "No operator leads.",
        cause:
          "No operator can take or renew the Lease, or none can read the saved state. Changes are not published; nodes " +
          "serve the last configuration.",
        cure:
          "`GET /readyz` of the operators and their logs have the reason, such as an API server that cannot be reached, " +
          "or a missing permission for Leases.",
      },
      ...(namespace === null
        ? []
        : [
            {
              alert: "SluiceOperatorAbsent",
              severity: "critical",
              for: "5m",
              expr: `absent(${series("sluice_operator_term")})`,
              summary: "Prometheus gets no metrics of an operator.",
              cause:
                "No operator runs, or Prometheus cannot reach it: `networkPolicies.metricsFrom` of the chart must " +
                "allow Prometheus. Only the chart's rules have this alert, because nodes that read a file or a " +
                "database need no operator.",
              cure: "Look at the pods of the operator, and at the targets in Prometheus.",
            } as const,
          ]),
      {
        alert: "SluiceStateNotSaved",
        severity: "warning",
        for: "10m",
        expr:
          `(${series("sluice_operator_document_kept_timestamp_seconds")} == 0 and ${series("sluice_operator_term")} > 0 ` +
          `and ignoring (state) ${series("sluice_operator_nodes", 'state="current"')} > 0) or ` +
          `(${writes("failed")} > 0 unless ${writes("written")} > 0)`,
        summary: "The operator does not save the configuration that the nodes serve.",
        cause:
          "The operator cannot write its ConfigMaps or its folder, or some nodes have never acknowledged a document. " +
          "After a restart, the operator would not know the last valid versions of invalid resources.",
        cure:
          "The operator's log has a line `cannot save the acknowledged state` with the reason, such as a missing " +
          "permission or a full disk. While nodes lag, see SluiceNodeLagging.",
      },
      {
        alert: "SluiceEventLoopDelayed",
        severity: "warning",
        for: "5m",
        expr: `${series("nodejs_eventloop_lag_p99_seconds", 'node_id!=""')} > 0.2`,
        summary:
          "The event loop of a thread of the node {{ $labels.node_id }} is blocked for {{ $value }} s at a time.",
        cause: "A plugin computes for a long time, or the node has too little CPU time.",
        cure:
          "`sluice_plugin_seconds` names plugins that occupy the event loop. Otherwise raise the CPU limit, the number " +
          "of workers (`SLUICE_WORKERS`) or the number of nodes.",
      },
      {
        alert: "SluiceDescriptorsShort",
        severity: "warning",
        for: "5m",
        expr: `${series("process_open_fds", 'node_id!=""')} / ${series("process_max_fds", 'node_id!=""')} > 0.8`,
        summary: "The node {{ $labels.node_id }} uses {{ $value | humanizePercentage }} of its file descriptors.",
        cause: "Each connection needs a descriptor. Without a free one, the node accepts no connections.",
        cure: "Raise the limit of the process (`ulimit -n`), or lower `SLUICE_MAX_CONNECTIONS`.",
      },
    ],
  };
}
