/** Health checks: how an upstream determines which of its targets are healthy. */
import { array, boolean, choice, decimal, integer, mapping, nullable, record, set, text } from "@sluice/plugin-sdk";

const types = ["tcp", "http", "https", "grpc", "grpcs"] as const;

const type = (description: string) => choice(types, { description, default: "http" });

const seconds = (description: string, value: number) =>
  decimal({ description, default: value, minimum: 0, maximum: 65_535 });

const count = (what: string, state: "healthy" | "unhealthy") =>
  integer({
    description: `Consecutive ${what} that make a target ${state}; 0 ignores them.`,
    default: 0,
    minimum: 0,
    maximum: 255,
  });

const statuses = (description: string, value: readonly number[]) =>
  set(integer({ description: "A status.", minimum: 100, maximum: 999 }), {
    description,
    default: value,
    maxItems: 128,
  });

/** A record whose members get their defaults even if the record is unset. */
const section = <Members extends Parameters<typeof record>[0]>(description: string, members: Members) =>
  record(members, { description, default: {} });

const failures = {
  tcp_failures: count("failed connections", "unhealthy"),
  timeouts: count("timeouts", "unhealthy"),
  http_failures: count("failure statuses", "unhealthy"),
};

const active = section("Active checks: the node itself sends requests to every target.", {
  type: type(
    "http and https check the response status. grpc and grpcs ask the target's health service (grpc.health.v1); an " +
      "answer other than SERVING counts as a failure status (`http_failures`). tcp checks only that a connection can be " +
      "made.",
  ),
  timeout: seconds("Seconds after which a check without a response fails.", 1),
  concurrency: integer({
    description:
      "Maximum number of healthy targets that are checked at the same time. The same limit applies separately to " +
      "unhealthy targets.",
    default: 10,
    minimum: 1,
    maximum: 2 ** 31 - 1,
  }),
  http_path: text({ description: "Path of the check's request.", rule: "path", default: "/", maxLength: 4096 }),
  https_verify_certificate: boolean({ description: "Verify the target's certificate.", default: true }),
  https_sni: nullable(
    text({ description: "Server name (SNI) of the check's TLS connection.", rule: "wildcard-sni", maxLength: 255 }),
  ),
  headers: nullable(
    mapping(
      array(text({ description: "A value.", maxLength: 1024 }), {
        description: "Values of the header.",
        minItems: 1,
        maxItems: 16,
      }),
      { description: "Headers of the check's request.", keyRule: "header-name", maxProperties: 16 },
    ),
  ),
  grpc_service: nullable(
    text({
      description: "The service whose health checks of type grpc and grpcs ask for. Unset: the whole server.",
      minLength: 1,
      maxLength: 255,
    }),
  ),
  healthy: section("Conditions under which an unhealthy target becomes healthy.", {
    interval: seconds("Seconds between checks of healthy targets; 0 disables these checks.", 0),
    http_statuses: statuses("Statuses that count as success.", [200, 302]),
    successes: count("successes", "healthy"),
  }),
  unhealthy: section("Conditions under which a healthy target becomes unhealthy.", {
    interval: seconds("Seconds between checks of unhealthy targets; 0 disables these checks.", 0),
    http_statuses: statuses("Statuses that count as failure.", [429, 404, 500, 501, 502, 503, 504, 505]),
    ...failures,
  }),
});

const passive = section("Passive checks: the results of clients' requests determine the health of a target.", {
  type: type("With tcp every response counts as a success; with the other types its status decides."),
  healthy: section("Conditions under which an unhealthy target becomes healthy.", {
    http_statuses: statuses(
      "Statuses that count as success.",
      [200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 306, 307, 308],
    ),
    successes: count("successes", "healthy"),
  }),
  unhealthy: section("Conditions under which a healthy target becomes unhealthy.", {
    http_statuses: statuses("Statuses that count as failure.", [429, 500, 503]),
    ...failures,
  }),
});

export const healthchecksSchema = section("Health checks, which decide which targets receive requests.", {
  active,
  passive,
  threshold: decimal({
    description:
      "Percentage of the targets' total weight that the healthy targets must exceed. Otherwise all requests to the " +
      "upstream are answered with 503.",
    default: 0,
    minimum: 0,
    maximum: 100,
  }),
});
