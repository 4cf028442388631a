/** The operator's metrics for Prometheus. */
import { X509Certificate } from "node:crypto";
import type { CompletedRequest } from "@sluice/crds";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { PushOutcome } from "./publish/node-loop.ts";
import { type ControllerName, createWorkMetrics, metricControllers } from "./work-metrics.ts";

/** Values of one controller's queue that are read on each scrape. */
interface QueueGauges {
  readonly queued: () => number;
  /** Maximum number of items that the controller processes concurrently. */
  readonly workers: number;
}

/** Values that are read on each scrape. Each stage provides its own. */
export interface OperatorGauges extends Readonly<Record<ControllerName, QueueGauges>> {
  readonly revision: () => number;
  readonly resources: () => Readonly<Record<string, number>>;
  readonly problems: () => number;
  /** Name of the leader election Lease. */
  readonly lease: string;
  /** Null: this operator does not lead. */
  readonly term: () => number | null;
  /** Time at which this process last saved the acknowledged state, in Unix milliseconds; null: never. */
  readonly savedAt: () => number | null;
  /** Time at which a node saved the last counter of policy fleet that is kept, in Unix milliseconds; null: none is. */
  readonly countersSavedAt: () => number | null;
  readonly nodes: () => { readonly current: number; readonly lagging: number; readonly silent: number };
}

export function createOperatorMetrics(registry = new Registry()) {
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const reconcile = new Histogram({
    name: "sluice_operator_reconcile_seconds",
    help: "Time to translate the resources and publish the document.",
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  });
  const push = new Histogram({
    name: "sluice_operator_push_seconds",
    help: "Time of one push to one node, by its outcome.",
    labelNames: ["outcome"],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  });
  const status = new Counter({
    name: "sluice_operator_status_writes_total",
    help: "Writes of statuses, by their outcome.",
    labelNames: ["outcome"],
    registers,
  });
  const saves = new Counter({
    name: "sluice_operator_state_writes_total",
    help: "Writes of the document that the nodes have acknowledged, by their outcome.",
    labelNames: ["outcome"],
    registers,
  });
  const revisions = new Counter({
    name: "sluice_operator_revision_writes_total",
    help: "Writes of revisions of the custom resources, by their outcome.",
    labelNames: ["outcome"],
    registers,
  });
  // The counters start at 0, so that an alert on an increase sees the first event.
  for (const outcome of ["written", "failed"]) {
    saves.inc({ outcome }, 0);
    revisions.inc({ outcome }, 0);
  }
  return {
    registry,
    work: createWorkMetrics(registry),
    reconciled: (seconds: number) => reconcile.observe(seconds),
    pushed: (outcome: PushOutcome, seconds: number) => push.observe({ outcome }, seconds),
    wroteStatus: (outcome: "written" | "failed") => status.inc({ outcome }),
    savedState: (outcome: "written" | "failed") => saves.inc({ outcome }),
    recordedRevision: (outcome: "written" | "failed") => revisions.inc({ outcome }),
  };
}

export type OperatorMetrics = ReturnType<typeof createOperatorMetrics>;

interface ScrapedGauge {
  readonly name: string;
  readonly help: string;
  /** Names of the labels. Absent: the gauge has a single value. */
  readonly labels?: readonly string[];
  /** Called on each scrape. Returns one value, or a value per key; each label then has the key as its value. */
  readonly read: () => number | Readonly<Record<string, number>>;
}

export function registerOperatorGauges(registry: Registry, gauges: OperatorGauges): void {
  const ofControllers = (read: (controller: QueueGauges) => number) => () =>
    Object.fromEntries(metricControllers.map((controller) => [controller, read(gauges[controller])]));
  const scraped: readonly ScrapedGauge[] = [
    {
      name: "workqueue_depth",
      help: "Queued items.",
      labels: ["name", "controller"],
      read: ofControllers(({ queued }) => queued()),
    },
    {
      name: "controller_runtime_max_concurrent_reconciles",
      help: "Maximum number of items that are processed concurrently.",
      labels: ["controller"],
      read: ofControllers(({ workers }) => workers),
    },
    {
      name: "sluice_operator_revision",
      help: "Revision of the document that was published last.",
      read: gauges.revision,
    },
    {
      name: "sluice_operator_resources",
      help: "Resources that the operator reads, by kind.",
      labels: ["kind"],
      read: gauges.resources,
    },
    {
      name: "sluice_operator_resources_with_problems",
      help: "Resources with a problem, such as an invalid field or a reference to a missing resource.",
      read: gauges.problems,
    },
    {
      name: "leader_election_master_status",
      help: "1 for the leader, 0 for the other operators. controller-runtime has a metric of the same name.",
      labels: ["name"],
      read: () => ({ [gauges.lease]: gauges.term() === null ? 0 : 1 }),
    },
    {
      name: "sluice_operator_term",
      help: "The term in which this operator leads; 0 while it does not lead.",
      read: () => gauges.term() ?? 0,
    },
    {
      name: "sluice_operator_document_kept_timestamp_seconds",
      help: "Unix time at which this process last saved the document that the nodes have acknowledged; 0: never.",
      read: () => (gauges.savedAt() ?? 0) / 1000,
    },
    {
      name: "sluice_operator_fleet_counters_timestamp_seconds",
      help: "Unix time at which a node saved the last counter of a day, month or year with policy fleet that this process keeps; 0: none.",
      read: () => (gauges.countersSavedAt() ?? 0) / 1000,
    },
    {
      name: "sluice_operator_nodes",
      help: "Gateway nodes by state: current (runs the published document), lagging (does not run it yet), silent (no answer for 2 s).",
      labels: ["state"],
      read: gauges.nodes,
    },
  ];
  for (const { name, help, labels = [], read } of scraped) {
    const collect = function (this: Gauge) {
      const found = read();
      if (typeof found === "number") return this.set(found);
      for (const [key, value] of Object.entries(found))
        this.set(Object.fromEntries(labels.map((label) => [label, key])), value);
    };
    new Gauge({ name, help, labelNames: labels, registers: [registry], collect });
  }
}

/**
 * Metrics of requests to the API server, with the names of client-go. Returns the function to call after every request,
 * even one without a response.
 */
export function createRestMetrics(registry: Registry): (answered: CompletedRequest) => void {
  const registers = [registry];
  const requests = new Counter({
    name: "rest_client_requests_total",
    help: "Requests to the API server, by method, host and status code; code <error> when there was no response.",
    labelNames: ["code", "method", "host"],
    registers,
  });
  const latencies = new Histogram({
    name: "rest_client_request_duration_seconds",
    help: "Time until the response of the API server began, by method and host.",
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    labelNames: ["verb", "host"],
    registers,
  });
  return ({ method, code, host, seconds }) => {
    requests.inc({ method, code, host });
    latencies.observe({ verb: method, host }, seconds);
  };
}

/** Records the expiry of a certificate (PEM text) that this operator presents; to be called whenever it changes. */
export type RecordCertificate = (certificate: "push" | "webhook", pem: string) => void;

export function createCertificateMetrics(registry: Registry): RecordCertificate {
  const expiry = new Gauge({
    name: "sluice_operator_certificate_expiry_timestamp_seconds",
    help: "Unix time at which a certificate of the operator expires: push (for the nodes), webhook (for the API server).",
    labelNames: ["certificate"],
    registers: [registry],
  });
  return (certificate, pem) => expiry.set({ certificate }, new X509Certificate(pem).validToDate.getTime() / 1000);
}
