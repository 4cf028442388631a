import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { listen, portOf } from "../../../../test/conformance/engine/proxy-rig.ts";
import { startReportedNode } from "../testing-node.ts";
import { OpensslAuthority, openssl } from "./testing-responder.ts";

const run = promisify(execFile);

/** The output of `openssl s_client`, which asks for a stapled response. */
async function handshake(port: number, version = "-tls1_3"): Promise<string> {
  const { stdout } = await run("sh", [
    "-c",
    '"$0" s_client -connect "127.0.0.1:$1" -servername a.test -status "$2" < /dev/null 2>&1',
    openssl,
    `${port}`,
    version,
  ]);
  return stdout;
}

async function startNode(
  context: TestContext,
  { responder, settings = {} }: { responder?: string; settings?: Record<string, string> } = {},
) {
  const authority = new OpensslAuthority(context);
  const url = responder ?? (await authority.startResponder());
  const pair = authority.issueMustStaple("a.test", "1001", url);
  const node = await startReportedNode(context, {
    service: { routes: [{ name: "all", paths: ["/"] }] },
    certificates: [{ ...pair, snis: [{ name: "a.test" }] }],
    settings: { SLUICE_PROXY_TLS_LISTEN: "127.0.0.1:0", ...settings },
  });
  return { ...node, tlsPort: node.gateway.proxyTls?.port ?? 0, authority };
}

for (const workers of ["1", "2"])
  for (const version of ["-tls1_2", "-tls1_3"])
    test(`a node with ${workers} workers staples the response of the responder, from the first handshake on (${version})`, async (context) => {
      const node = await startNode(context, { settings: { SLUICE_WORKERS: workers } });
      for (let count = 0; count < 4; count++) {
        const output = await handshake(node.tlsPort, version);
        assert.match(output, /OCSP Response Status: successful \(0x0\)/);
        assert.match(output, /Cert Status: good/);
      }
      assert.match(await node.metrics(), /^sluice_ocsp_response_expiry_timestamp_seconds\{.*\} [1-9]\d{9}/m);
      assert.ok(!(await node.getStatus("/status")).body.includes("unstapled_certificates"));
    });

test("without a response the handshake goes on, and the status, the metrics and the log of the node report it", async (context) => {
  const failing = createServer((_request, response) => response.writeHead(500).end());
  const responder = `http://127.0.0.1:${portOf(await listen(context, failing))}/`;
  const node = await startNode(context, { responder });
  const output = await handshake(node.tlsPort);
  assert.match(output, /OCSP response: no response sent/);
  assert.match(output, /Server certificate/);
  const { sluice } = JSON.parse((await node.getStatus("/status")).body);
  assert.equal(sluice.unstapled_certificates.length, 1);
  assert.equal(sluice.unstapled_certificates[0].reason, `${responder}: the responder answers with status 500`);
  assert.match(await node.metrics(), /^sluice_ocsp_response_expiry_timestamp_seconds\{.*\} 0$/m);
  assert.ok(node.log.some(({ msg }) => `${msg}`.startsWith("clients refuse a certificate")));
});
