/**
 * The client of grpc-go for gRPC's interoperability tests calls grpc-go's server through a real node. The client ends
 * with status 0 only if the case has passed. Left out are the cases with credentials of Google's cloud, and
 * pick_first_unary, because grpc-go's server does not report its id.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startFileNode } from "../../../gateway/src/testing-file-node.ts";
import { connectToPort, freePort, startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";

const AUTHORITY_ID = "7b1e5f2e-6c0d-4f0e-9a52-3f4b8f3c1d10";

/** Passes the load reports of the server (ORCA) to the client's assertions. */
const loadReports = `--service_config_json=${JSON.stringify({ loadBalancingConfig: [{ test_backend_metrics_load_balancer: {} }] })}`;
const soak = ["--soak_iterations=200", "--soak_num_threads=4", "--soak_overall_timeout_seconds=60"];
/** A busy machine delays single calls; only failures of calls count. */
const patient = "--soak_per_iteration_max_acceptable_latency_ms=20000";

/** Further arguments of the client, by case. */
const cases: Readonly<Record<string, readonly string[]>> = {
  empty_unary: [],
  large_unary: [],
  client_streaming: [],
  server_streaming: [],
  ping_pong: [],
  empty_stream: [],
  custom_metadata: [],
  status_code_and_message: [],
  special_status_message: [],
  unimplemented_method: [],
  unimplemented_service: [],
  cancel_after_begin: [],
  cancel_after_first_response: [],
  timeout_on_sleeping_server: [],
  rpc_soak: [...soak, patient],
  channel_soak: [...soak, patient],
  orca_per_rpc: [loadReports],
  orca_oob: [loadReports],
};

interface Scene {
  readonly port: number;
  /** The authority of the node's certificate, PEM. */
  readonly authorityFile: string;
}

async function startScene(context: TestContext, secure: boolean): Promise<Scene> {
  const folder = temporaryFolder("grpc");
  context.after(() => folder.remove());
  const authority = await makeAuthority();
  const pair = await authority.issue({ name: "localhost", sans: ["localhost"], usage: "server" });
  const write = (name: string, text: string): string => {
    const path = join(folder.path, name);
    writeFileSync(path, text);
    return path;
  };
  const files = { authority: write("ca.pem", authority.certificate), certificate: write("cert.pem", pair.certificate) };
  const serverPort = await freePort();
  const tls = ["--use_tls", `--tls_cert_file=${files.certificate}`, `--tls_key_file=${write("key.pem", pair.key)}`];
  const args = [`--port=${serverPort}`, ...(secure ? tls : [])];
  const server = await startProcess(await obtainTool("grpc-interop-server"), args, {
    name: "grpc-interop-server",
    ready: () => connectToPort(serverPort),
  });
  context.after(() => server.stop());
  const document = {
    _format_version: "3.0",
    ca_certificates: [{ id: AUTHORITY_ID, cert: authority.certificate }],
    certificates: [{ cert: pair.certificate, key: pair.key, snis: [{ name: "localhost" }] }],
    services: [
      {
        name: "interop",
        url: `${secure ? "grpcs" : "grpc"}://localhost:${serverPort}`,
        ...(secure && { tls_verify: true, ca_certificates: [AUTHORITY_ID] }),
        routes: [{ name: "all", protocols: ["grpc", "grpcs"], paths: ["/"], strip_path: false }],
      },
    ],
  };
  const tlsPort = await freePort();
  const { node, proxy } = await startFileNode({
    file: write("sluice.json", JSON.stringify(document)),
    env: {
      SLUICE_PROXY_HTTP2: "true",
      SLUICE_PROXY_TLS_LISTEN: `127.0.0.1:${tlsPort}`,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8,::1",
      SLUICE_LOG_LEVEL: "warn",
    },
  });
  context.after(() => node.stop());
  return { port: secure ? tlsPort : proxy, authorityFile: files.authority };
}

for (const [transport, secure] of [
  ["without TLS", false],
  ["with TLS on both sides", true],
] as const) {
  test(`grpc-go's interoperability cases pass ${transport}`, async (context) => {
    const { port, authorityFile } = await startScene(context, secure);
    const client = await obtainTool("grpc-interop-client");
    const tls = ["--use_tls", "--use_test_ca", `--ca_file=${authorityFile}`, "--server_host_override=localhost"];
    for (const [name, more] of Object.entries(cases)) {
      await context.test(name, async () => {
        const args = [`--test_case=${name}`, "--server_host=127.0.0.1", `--server_port=${port}`, ...more];
        const run = await startProcess(client, [...args, ...(secure ? tls : [])], { name: "grpc-interop-client" });
        const { code } = await run.ended();
        assert.equal(code, 0, run.output());
      });
    }
  });
}
