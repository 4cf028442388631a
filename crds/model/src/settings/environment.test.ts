import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "./index.ts";

const declarations = {
  level: { variable: "SLUICE_LOG_LEVEL", kind: "text", default: "info", description: "The level." },
} as const;

const refused: readonly (readonly [name: string, value: string, message: string])[] = [
  ["SLUICE_LOG_LEVLE", "info", "there is no such setting, did you mean SLUICE_LOG_LEVEL?"],
  ["SLUICE_NAMESPACE", "a", "there is no such setting, did you mean SLUICE_NAMESPACES?"],
  ["SLUICE_USER_API_LISTN", ":1", "there is no such setting, did you mean SLUICE_USER_API_LISTEN?"],
  ["SLUICE_XYZ", "1", "there is no such setting"],
  // Named like variables that Kubernetes sets for a Service, but with values that it would not set.
  ["SLUICE_PROXY_SERVICE_HOST", "gateway.example", "there is no such setting"],
  ["SLUICE_PROXY_SERVICE_PORT", "http", "there is no such setting"],
  ["SLUICE_ADMIN_PORT", "8001", "there is no such setting"],
];

for (const [name, value, message] of refused) {
  test(`${name}=${value} is refused: ${message}`, () => {
    const { violations } = readSettings(declarations, { [name]: value });
    assert.deepEqual(
      violations?.map(({ path, message: reported }) => [...path, reported.slice(0, message.length)]),
      [[name, message]],
    );
  });
}

// Every form of variables for a Service: https://kubernetes.io/docs/concepts/services-networking/service/.
const serviceLinks = (service: string) => ({
  [`${service}_SERVICE_HOST`]: "10.0.0.11",
  [`${service}_SERVICE_PORT`]: "8000",
  [`${service}_SERVICE_PORT_PROXY_TLS`]: "8443",
  [`${service}_PORT`]: "tcp://10.0.0.11:8000",
  [`${service}_PORT_8000_TCP`]: "tcp://10.0.0.11:8000",
  [`${service}_PORT_8000_TCP_PROTO`]: "tcp",
  [`${service}_PORT_8000_TCP_PORT`]: "8000",
  [`${service}_PORT_8000_TCP_ADDR`]: "10.0.0.11",
  [`${service}_PORT_53_UDP`]: "udp://[fd00::1]:53",
  [`${service}_PORT_53_UDP_ADDR`]: "fd00::1",
});

const taken: readonly (readonly [what: string, env: Readonly<Record<string, string>>])[] = [
  ["variables that Kubernetes sets for a Service sluice", serviceLinks("SLUICE")],
  ["variables that Kubernetes sets for a Service sluice-user-api", serviceLinks("SLUICE_USER_API")],
  ["settings of other programs", { SLUICE_PUSH_SECRET: "a", SLUICE_USER_API_DATA: "b", SLUICE_PG_HOST: "c" }],
  ["variables of the repository's scripts", { SLUICE_WORK: "a", SLUICE_CACHE: "b", SLUICE_NODE2_PROXY_LISTEN: "c" }],
  ["an unknown variable that is empty", { SLUICE_LOG_LEVLE: " " }],
  ["variables with other prefixes", { SLUICEGATE: "a", MY_SLUICE_LOG_LEVLE: "b" }],
];

for (const [what, env] of taken) {
  test(`readSettings accepts ${what}`, () => {
    assert.deepEqual(readSettings(declarations, env), { value: { level: "info" } });
  });
}
