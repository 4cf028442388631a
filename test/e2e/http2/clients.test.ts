/** curl, nghttp and h2load against the proxy, over TLS and without it. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createHttp1Proxy } from "../../../gateway/src/proxy/http1/listener.ts";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { listen, portOf, type Rig, startRig } from "../../conformance/engine/proxy-rig.ts";

const SIZE = 1_000_000;

interface Scene {
  /** By scheme. */
  readonly urls: Readonly<Record<"http" | "https", string>>;
  /** A file of SIZE bytes. */
  readonly upload: string;
  readonly authority: string;
  /** The log of the proxy. */
  readonly log: Rig["log"];
}

/** A proxy, whose upstream answers GET with SIZE bytes, and POST with the number of bytes that it received. */
async function startProxy(context: TestContext): Promise<Scene> {
  const folder = temporaryFolder("http2-clients");
  context.after(() => folder.remove());
  const authority = await makeAuthority();
  const pair = await authority.issue({ name: "localhost", sans: ["localhost"], usage: "server" });
  const server = createServer(async (incoming, response) => {
    let size = 0;
    for await (const chunk of incoming) size += (chunk as Buffer).length;
    response.end(incoming.method === "POST" ? `received ${size}` : Buffer.alloc(SIZE, "x"));
  });
  // A POST whose connection the upstream closes while it is idle fails with 502.
  server.keepAliveTimeout = 60_000;
  const { port, tlsPort, log } = await startRig(
    context,
    { name: "http1", createProxy: createHttp1Proxy },
    {
      upstream: portOf(await listen(context, server)),
      settings: { cleartextHttp2: true },
      certificates: { "*": pair },
    },
  );
  const [upload, ca] = [join(folder.path, "upload"), join(folder.path, "ca.pem")];
  writeFileSync(upload, Buffer.alloc(SIZE, "y"));
  writeFileSync(ca, authority.certificate);
  return {
    log,
    urls: { http: `http://localhost:${port}/`, https: `https://localhost:${tlsPort}/` },
    upload,
    authority: ca,
  };
}

async function run(tool: "curl" | "nghttp" | "h2load", args: readonly string[]): Promise<string> {
  const program = await startProcess(await obtainTool(tool), args, { name: tool });
  const { code } = await program.ended();
  assert.equal(code, 0, program.tail());
  return program.output();
}

for (const scheme of ["http", "https"] as const) {
  test(`curl downloads and uploads over HTTP/2 (${scheme})`, async (context) => {
    const { urls, upload, authority } = await startProxy(context);
    const common = [
      ...["-sS", "--cacert", authority, scheme === "http" ? "--http2-prior-knowledge" : "--http2"],
      ...["-w", "\n%{http_version} %{http_code} %{size_download}"],
    ];
    // With prior knowledge, curl 7.88 cannot send a second request on the connection, to any server.
    const count = scheme === "http" ? 1 : 2;
    const repeated = Array.from({ length: count }, () => ["-o", "/dev/null", urls[scheme]]).flat();
    const download = await run("curl", [...common, ...repeated]);
    assert.equal(download.trim(), Array.from({ length: count }, () => `2 200 ${SIZE}`).join("\n"));
    const answer = `received ${SIZE}`;
    const uploaded = await run("curl", [...common, "--data-binary", `@${upload}`, urls[scheme]]);
    assert.equal(uploaded.trim(), `${answer}\n2 200 ${answer.length}`);
  });

  test(`nghttp downloads ten times on one connection, with priorities (${scheme})`, async (context) => {
    const { urls } = await startProxy(context);
    const output = await run("nghttp", ["-n", "-s", "-m", "10", "-H", "priority: u=1, i", urls[scheme]]);
    const responses = output.split("\n").filter((line) => /^\s*\d+ .* 200 +976K /.test(line));
    assert.equal(responses.length, 10, output);
  });

  test(`h2load loses no request on 8 connections with 16 streams each (${scheme})`, async (context) => {
    const { urls, upload, log } = await startProxy(context);
    const load = ["-n", "400", "-c", "8", "-m", "16"];
    for (const more of [[], ["-d", upload]]) {
      const output = await run("h2load", [...load, ...more, urls[scheme]]);
      assert.match(
        output,
        /400 done, 400 succeeded, 0 failed, 0 errored, 0 timeout/,
        `${output}${JSON.stringify(log)}`,
      );
      assert.match(output, /status codes: 400 2xx, 0 3xx, 0 4xx, 0 5xx/);
    }
  });
}
