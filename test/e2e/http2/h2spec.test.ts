/** h2spec against the proxy: every case, with the strict ones, must pass. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createHttp1Proxy } from "../../../gateway/src/proxy/http1/listener.ts";
import { startProcess } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { startRig } from "../../conformance/engine/proxy-rig.ts";

/** Cases of h2spec 2.2.1 with `--strict`. */
const CASES = 146;
/**
 * All sections except case 2 of section 3.5: it sends an invalid preface. Without TLS the gateway takes these bytes for
 * HTTP/1.1 and answers 400, but the case accepts only the end of the connection. Ports of Envoy 1.39 (`codec_type: AUTO`)
 * and HAProxy 2.6 that accept both protocols answer 400 too, and fail this case. A port of nginx 1.22 without TLS accepts
 * only one of the protocols.
 */
const withoutTls = [...["generic", "hpack", "http2/3.5/1"], ...["http2/4", "http2/5", "http2/6", "http2/7", "http2/8"]];

async function startProxy(context: TestContext) {
  const authority = await makeAuthority();
  const pair = await authority.issue({ name: "localhost", sans: ["localhost"], usage: "server" });
  return startRig(
    context,
    { name: "http1", createProxy: createHttp1Proxy },
    {
      upstream: (incoming, response) => {
        incoming.on("error", () => {}).resume();
        incoming.on("end", () => response.end("the body of a response"));
      },
      settings: { cleartextHttp2: true },
      certificates: { "*": pair },
    },
  );
}

async function run(args: readonly string[]): Promise<string> {
  const h2spec = await startProcess(await obtainTool("h2spec"), ["--strict", "-h", "localhost", "-o", "5", ...args], {
    name: "h2spec",
  });
  await h2spec.ended();
  return h2spec.output();
}

for (const [says, port, more, cases] of [
  ["over TLS", "tlsPort", ["-t", "-k"], CASES],
  ["without TLS", "port", withoutTls, CASES - 1],
] as const) {
  test(`the proxy passes every case of h2spec ${says}`, async (context) => {
    const rig = await startProxy(context);
    const output = await run(["-p", String(rig[port]), ...more]);
    const [, count, passed, skipped, failed] =
      /(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed/.exec(output) ?? [];
    assert.deepEqual([count, passed, skipped, failed].map(Number), [cases, cases, 0, 0], output);
  });
}
