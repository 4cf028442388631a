/** Services that refer to a core Service: its endpoints, and its cluster IP when no endpoint is reachable. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { freePort } from "../../../tools/process/index.ts";
import { dial, receiveUntil, sendRequest } from "./client.ts";
import { type Engine, portOf, startRig, startUpstream } from "./proxy-rig.ts";

const HANDSHAKE = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

const at = (port: number, address = "127.0.0.1") => ({ address, port });
const own = (port: number) => ({ ...at(port), fallback: true });

export function coreServiceSuite(engine: Engine): void {
  /** Starts the server behind the core Service's cluster IP; returns the IP as a fallback endpoint. */
  const startCluster = async (test: TestContext) => {
    const server = await startUpstream(test, (_request, response) => response.end("cluster"));
    server.on("upgrade", (_request, socket) =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\ncluster"),
    );
    return own(portOf(server));
  };

  describe(`core Services: the ${engine.name} engine`, () => {
    it("uses the cluster IP when no endpoint accepts a connection", async (test) => {
      const dead = [at(await freePort()), at(await freePort())];
      const { port } = await startRig(test, engine, { endpoints: [...dead, await startCluster(test)] });
      assert.equal((await sendRequest(port)).body, "cluster");
      assert.equal((await sendRequest(port, { method: "POST", body: "x" })).body, "cluster");
      const socket = await dial(test, port);
      socket.write(HANDSHAKE);
      await receiveUntil(socket, "cluster");
      socket.destroy();
    });

    it("never uses the cluster IP while an endpoint answers, even with an error", async (test) => {
      const live = await startUpstream(test, (_request, response) => response.writeHead(503).end("endpoint"));
      const endpoints = [at(portOf(live)), at(await freePort()), await startCluster(test)];
      const { port } = await startRig(test, engine, { endpoints });
      for (let count = 0; count < 6; count++) assert.equal((await sendRequest(port)).body, "endpoint");
    });

    it("stops using the cluster IP when the next document has an endpoint that answers", async (test) => {
      const cluster = await startCluster(test);
      const rig = await startRig(test, engine, { endpoints: [at(await freePort()), cluster] });
      assert.equal((await sendRequest(rig.port)).body, "cluster");
      const live = await startUpstream(test, (_request, response) => response.end("endpoint"));
      await rig.swap({ endpoints: [at(portOf(live)), cluster] });
      assert.equal((await sendRequest(rig.port)).body, "endpoint");
    });

    it("does not use the cluster IP if the address check refuses an endpoint or the cluster IP", async (test) => {
      const cluster = await startCluster(test);
      for (const endpoints of [
        [at(80, "169.254.169.254"), cluster],
        [at(await freePort()), at(80, "169.254.169.254"), cluster],
        [at(await freePort()), { ...own(80), address: "169.254.169.254" }],
      ]) {
        const { port } = await startRig(test, engine, { endpoints });
        for (let count = 0; count < 3; count++) assert.notEqual((await sendRequest(port)).status, 200);
      }
    });

    it("answers 502 when the cluster IP cannot be reached either", async (test) => {
      const endpoints = [at(await freePort()), own(await freePort())];
      const { port } = await startRig(test, engine, { endpoints });
      assert.equal((await sendRequest(port)).status, 502);
    });
  });
}
