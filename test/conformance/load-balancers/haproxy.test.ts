/** HAProxy as the load balancer that sends the header of the PROXY protocol. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { createHttp1Proxy } from "../../../gateway/src/proxy/http1/listener.ts";
import { createReplyFromProxy } from "../../../gateway/src/proxy/reply-from/listener.ts";
import { connectToPort, freePort, startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { sendRaw } from "../engine/client.ts";
import { type Engine, startRig } from "../engine/proxy-rig.ts";

const engines: readonly Engine[] = [
  { name: "http1", createProxy: createHttp1Proxy },
  { name: "reply-from", createProxy: createReplyFromProxy },
];
const REQUEST = "GET /asked HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
/** The address from which the client connects to HAProxy. */
const CLIENT = "127.0.0.7";

for (const engine of engines)
  describe(`the PROXY protocol of HAProxy: the ${engine.name} engine`, { timeout: 30_000 }, () => {
    it("gives the gateway the client's address, and keeps that of HAProxy for health checks", async (test) => {
      const seen: string[] = [];
      const pair = await (await makeAuthority()).issue({ name: "a", sans: ["a.example"], usage: "server" });
      const rig = await startRig(test, engine, {
        upstream({ url, headers }, response) {
          seen.push(`${url} ${headers["x-real-ip"]}`);
          response.end(`${headers["x-real-ip"]} ${headers["x-forwarded-port"]}`);
        },
        certificates: { "*": pair },
        settings: { proxyProtocol: ["127.0.0.1"] },
      });
      const check = "check inter 100 check-send-proxy";
      const fronts = [
        { name: "one", port: await freePort(), server: `127.0.0.1:${rig.port} send-proxy` },
        { name: "two", port: await freePort(), server: `127.0.0.1:${rig.port} send-proxy-v2 ${check}` },
        {
          ...{ name: "tls", port: await freePort() },
          server: `127.0.0.1:${rig.tlsPort} send-proxy-v2 proxy-v2-options crc32c,unique-id,authority`,
        },
      ];
      const config = [
        "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1m\n  timeout server 1m\n  timeout check 20s",
        ...fronts.map(({ name, port, server }) =>
          [
            `listen ${name}`,
            `  bind 127.0.0.1:${port}`,
            "  unique-id-format %ci-%ts",
            "  option httpchk GET /check",
            `  server gateway ${server}`,
          ].join("\n"),
        ),
        "",
      ];
      const folder = temporaryFolder("haproxy");
      test.after(() => folder.remove());
      const file = join(folder.path, "haproxy.cfg");
      writeFileSync(file, config.join("\n"));
      const [one, two, tls] = fronts.map(({ port }) => port) as [number, number, number];
      const haproxy = await startProcess(await obtainTool("haproxy"), ["-db", "-f", file], {
        name: "haproxy",
        ready: () => connectToPort(tls).catch(() => false),
      });
      test.after(() => haproxy.stop());
      for (const port of [one, two]) {
        const answer = await sendRaw(test, port, REQUEST, CLIENT);
        assert.match(answer, new RegExp(`^HTTP/1.1 200 [^]*\r\n\r\n${CLIENT} ${port}$`));
      }
      const options = { servername: "a.example", rejectUnauthorized: false, localAddress: CLIENT };
      const socket = connectTls({ host: "127.0.0.1", port: tls, ...options });
      test.after(() => socket.destroy());
      socket.write(REQUEST);
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk as Buffer);
      assert.match(Buffer.concat(chunks).toString(), new RegExp(`\r\n\r\n${CLIENT} ${tls}$`));
      await waitFor(() => seen.includes("/check 127.0.0.1"), { what: "a health check of HAProxy" });
    });
  });
