/** Limits of retries and of health checks: members of services and upstreams that neither Kong nor its clients know. */
import type { AdminTable } from "../row.ts";

const budget = { percent: 20, min_concurrency: 3 };
const detection = { base_ejection_time: 30, max_ejection_time: 300, max_ejection_percent: 50 };

export const trafficLimitsTable: AdminTable = {
  of: "limits of retries and ejections",
  rows: [
    {
      does: "get the defaults of their members",
      ask: "POST /services",
      json: { name: "budgeted", host: "a", retry_budget: {} },
      status: 201,
      has: { retry_budget: budget },
    },
    {
      does: "stay when a client that does not know them replaces the service",
      ask: "PUT /services/budgeted",
      json: { name: "budgeted", host: "b" },
      status: 200,
      has: { host: "b", retry_budget: budget },
    },
    {
      does: "are removed by null",
      ask: "PATCH /services/budgeted",
      json: { retry_budget: null },
      status: 200,
      has: { retry_budget: null },
    },
    {
      does: "belong to upstreams too",
      ask: "POST /upstreams",
      form: "name=limited.example&slow_start_window=2.5&outlier_detection.max_ejection_percent=50",
      status: 201,
      has: { slow_start_window: 2.5, outlier_detection: detection },
    },
    {
      does: "stay when a client that does not know them replaces the upstream",
      ask: "PUT /upstreams/limited.example",
      json: { name: "limited.example", slots: 100 },
      status: 200,
      has: { slots: 100, slow_start_window: 2.5, outlier_detection: detection },
    },
    {
      does: "belong to active checks too",
      ask: "PATCH /upstreams/limited.example",
      form: "healthchecks.active.type=grpc&healthchecks.active.grpc_service=up.Service",
      status: 200,
      has: { healthchecks: { active: { type: "grpc", grpc_service: "up.Service" } } },
    },
    {
      does: "stay when a client that does not know them replaces the checks",
      ask: "PUT /upstreams/limited.example",
      json: { name: "limited.example", healthchecks: { active: { type: "grpcs" } } },
      status: 200,
      has: { slow_start_window: 2.5, healthchecks: { active: { type: "grpcs", grpc_service: "up.Service" } } },
    },
  ],
};
