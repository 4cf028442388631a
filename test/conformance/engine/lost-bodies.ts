/** Bodies that break off while a plugin reads them: a client's fault must not be reported as the plugin's. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Exchange } from "@sluice/plugin-sdk";
import type { ProxySettings } from "../../../gateway/src/proxy/settings.ts";
import { dial, receiveUntil, signal } from "./client.ts";
import { dialHttp2 } from "./http2-client.ts";
import { type Engine, startRig } from "./proxy-rig.ts";

const CHUNKED = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n";

/** A rig whose plugin reads the body of every request. */
async function startReading(test: TestContext, engine: Engine, settings: Partial<ProxySettings> = {}) {
  const [reading, settled, logged] = [signal(), signal(), signal<Exchange>()];
  let forwarded = 0;
  const rig = await startRig(test, engine, {
    upstream: (_incoming, response) => {
      forwarded++;
      response.end("ok");
    },
    settings,
    plugins: {
      cors: {
        async access({ request }) {
          const body = request.body(1000);
          reading.fire();
          await body.finally(settled.fire);
          return undefined;
        },
      },
      prometheus: { log: logged.fire },
    },
  });
  /** Waits until the plugin's read has settled, closes the proxy, and asserts that nothing was logged or forwarded. */
  async function checkQuiet(): Promise<void> {
    await settled.seen;
    await setImmediate();
    await rig.proxy.close({ deadline: 1000 });
    assert.deepEqual([rig.log, forwarded], [[], 0]);
  }
  return { rig, reading, logged, checkQuiet };
}

export function lostBodySuite(engine: Engine): void {
  describe(`aborted bodies: the ${engine.name} engine`, () => {
    for (const [says, start] of [
      ["with a length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"],
      ["in chunks", CHUNKED],
    ] as const) {
      it(`logs no error when a client disconnects in the middle of a body ${says}`, async (test) => {
        const { rig, reading, logged, checkQuiet } = await startReading(test, engine);
        const client = await dial(test, rig.port);
        client.write(start);
        await reading.seen;
        client.resetAndDestroy();
        assert.equal((await logged.seen).status, 499);
        await checkQuiet();
      });
    }

    it("answers 400 to a malformed body, and logs no error", async (test) => {
      const { rig, reading, logged, checkQuiet } = await startReading(test, engine);
      const client = await dial(test, rig.port);
      client.write(CHUNKED);
      await reading.seen;
      const answer = receiveUntil(client, "\r\n\r\n");
      client.write("zz\r\n");
      assert.match(await answer, /^HTTP\/1\.1 400 /);
      await logged.seen;
      client.destroy();
      await checkQuiet();
    });

    if (engine.name !== "http1") return;
    it("logs no error when a body does not arrive in time", async (test) => {
      const { rig, logged, checkQuiet } = await startReading(test, engine, { bodyTimeout: 50 });
      const client = await dial(test, rig.port);
      const answer = receiveUntil(client, "\r\n\r\n");
      client.write(CHUNKED);
      assert.match(await answer, /^HTTP\/1\.1 408 /);
      assert.equal((await logged.seen).status, 408);
      client.destroy();
      await checkQuiet();
    });

    for (const [says, code] of [
      ["resets", 8],
      ["ends", 0],
    ] as const) {
      it(`logs no error when an HTTP/2 client ${says} its stream in the middle of a body`, async (test) => {
        const { rig, reading, logged, checkQuiet } = await startReading(test, engine, { cleartextHttp2: true });
        const session = dialHttp2(test, rig.port);
        const stream = session.request({ ":path": "/", ":method": "POST" });
        stream.on("error", () => {}).write("{");
        await reading.seen;
        if (code === 0) stream.destroy();
        else stream.close(code);
        assert.equal((await logged.seen).status, 499);
        session.destroy();
        await checkQuiet();
      });
    }
  });
}
