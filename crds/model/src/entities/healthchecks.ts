/** Health checks: how an upstream determines which of its targets are healthy. */
import { choice, decimal, flag, integer, list, mapping, nullable, record, set, text } from "../schema/member.ts";

const types = ["tcp", "http", "https", "grpc", "grpcs"] as const;

const type = choice(types, {
  description: "tcp looks only whether a connection comes about; http also at the status.",
  default: "http",
});

const seconds = (description: string, value: number) =>
  decimal({ description, default: value, minimum: 0, maximum: 65_535 });

const count = (what: string) =>
  integer({ description: `How many ${what} in a row count; 0 looks at none.`, default: 0, minimum: 0, maximum: 255 });

const statuses = (description: string, value: readonly number[]) =>
  set(integer({ description: "A status.", minimum: 100, maximum: 999 }), {
    description,
    default: value,
    maxItems: 128,
  });

/** A record that gets its defaults when it is not given. */
const section = <Members extends Parameters<typeof record>[0]>(description: string, members: Members) =>
  record(members, { description, default: {} });

const failures = {
  tcp_failures: count("failed connections"),
  timeouts: count("timeouts"),
  http_failures: count("unhealthy statuses"),
};

const active = section("Requests of the node's own to every target.", {
  type,
  timeout: seconds("Seconds until a check has failed.", 1),
  concurrency: integer({
    description: "How many targets are checked at a time.",
    default: 10,
    minimum: 1,
    maximum: 2 ** 31 - 1,
  }),
  http_path: text({ description: "Path of the check.", rule: "path", default: "/", maxLength: 4096 }),
  https_verify_certificate: flag({ description: "Verify the target's certificate.", default: true }),
  https_sni: nullable(text({ description: "Server name of the check.", rule: "wildcard-sni", maxLength: 255 })),
  headers: nullable(
    mapping(
      list(text({ description: "A value.", maxLength: 1024 }), {
        description: "Its values.",
        minItems: 1,
        maxItems: 16,
      }),
      { description: "Headers of the check.", keyRule: "header-name", maxProperties: 16 },
    ),
  ),
  healthy: section("When an unhealthy target is healthy again.", {
    interval: seconds("Seconds between checks of healthy targets; 0: none.", 0),
    http_statuses: statuses("Statuses that count as success.", [200, 302]),
    successes: count("successes"),
  }),
  unhealthy: section("When a healthy target is unhealthy.", {
    interval: seconds("Seconds between checks of unhealthy targets; 0: none.", 0),
    http_statuses: statuses("Statuses that count as failure.", [429, 404, 500, 501, 502, 503, 504, 505]),
    ...failures,
  }),
});

const passive = section("What clients' requests tell.", {
  type,
  healthy: section("When an unhealthy target is healthy again.", {
    http_statuses: statuses(
      "Statuses that count as success.",
      [200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 306, 307, 308],
    ),
    successes: count("successes"),
  }),
  unhealthy: section("When a healthy target is unhealthy.", {
    http_statuses: statuses("Statuses that count as failure.", [429, 500, 503]),
    ...failures,
  }),
});

export const healthchecksSchema = section("Which targets are fit to get requests.", {
  active,
  passive,
  threshold: decimal({
    description: "Percent of the weight that must be healthy, else the upstream answers 503 as a whole.",
    default: 0,
    minimum: 0,
    maximum: 100,
  }),
});
