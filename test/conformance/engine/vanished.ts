/** Clients that vanish without closing, as in a power failure: they send nothing more, not even acknowledgements. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial, receiveUntil, signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { responseOfStream } from "./http2-client.ts";
import { block, dialFrames, frame, frameBytes, frameFlags, plainRequest } from "./http2-frames.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

/** Interval of the upstream's events in milliseconds. */
const EVENTS = 50;
const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");
/** The kind of keep-alive timers in /proc/net/tcp. A colon and the remaining hundredths of a second follow it there. */
const KEEP_ALIVE = "02";

/**
 * The kind of the kernel's timer for the proxy's side of a connection, and its remaining milliseconds. Without such a
 * connection the kind is empty.
 */
function timerOf(port: number, clientPort: number): { readonly kind: string; readonly left: number } {
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n");
  const row = rows
    .map((line) => line.trim().split(/\s+/))
    .find(([, from, to]) => {
      return from?.endsWith(`:${hex(port)}`) && to?.endsWith(`:${hex(clientPort)}`);
    });
  const [kind = "", left = ""] = row?.[5]?.split(":") ?? [];
  return { kind, left: Number.parseInt(left, 16) * 10 };
}

export function vanishedClientSuite(engine: Engine): void {
  describe(`clients that vanish (${engine.name})`, () => {
    it("have a TCP keep-alive timer of at most 20 s, including on the TLS port", async (test) => {
      const authority = await makeAuthority();
      const certificates = { "*": await authority.issue({ name: "a", sans: ["a"], usage: "server" }) };
      const { port, tlsPort } = await startRig(test, engine, {
        upstream: (_incoming, response) => response.write("begun"),
        certificates,
      });
      const plain = await dial(test, port);
      plain.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await receiveUntil(plain, "begun");
      const tls = await dial(test, tlsPort);
      for (const [at, socket] of [
        [port, plain],
        [tlsPort, tls],
      ] as const) {
        const { kind, left } = timerOf(at, socket.localPort ?? 0);
        assert.equal(kind, KEEP_ALIVE);
        assert.ok(left > 0 && left <= 20_000, `${left} ms`);
      }
    });
  });
  if (engine.name === "http1") http2Suite(engine);
}

async function startSilent(test: TestContext, engine: Engine) {
  const gone = signal();
  const upstream: RigOptions["upstream"] = ({ url }, response) => {
    const timer = url === "/events" ? setInterval(() => response.write("event"), EVENTS) : undefined;
    response.once("close", () => {
      clearInterval(timer);
      gone.fire();
    });
  };
  const started = await startHttp2(test, engine, { upstream, settings: { probeInterval: 300 } });
  return { ...started, gone };
}

function http2Suite(engine: Engine): void {
  // The tests run concurrently, because each waits for intervals.
  describe(`HTTP/2 clients that vanish (${engine.name})`, { concurrency: true }, () => {
    const asked = [
      ["wait for a response", frameFlags.endStream, plainRequest],
      [
        "receive events",
        frameFlags.endStream,
        [...plainRequest.filter(([name]) => name !== ":path"), [":path", "/events"]],
      ],
      ["have not sent the rest of a body", 0, [...plainRequest.slice(1), [":method", "POST"]]],
    ] as const;
    for (const [says, end, fields] of asked) {
      it(`are probed by PING while they ${says}, and their request is aborted`, async (test) => {
        const { rig, gone } = await startSilent(test, engine);
        const client = await dialFrames(test, rig.port);
        client.send(frameBytes(frame.headers, end | frameFlags.endHeaders, 1, block(fields)));
        await client.until(({ type, flags }) => type === frame.ping && flags === 0);
        await Promise.all([client.closed, gone.seen]);
      });
    }

    it("are distinguished from clients that acknowledge each PING, which get even a late response", async (test) => {
      const goOn = signal();
      const { session } = await startHttp2(test, engine, {
        upstream: (_incoming, response) => void goOn.seen.then(() => response.end("late")),
        settings: { probeInterval: 300 },
      });
      const answer = responseOfStream(session.request({ ":path": "/" }));
      for (let pings = 0; pings < 3; pings++) await once(session, "ping");
      goOn.fire();
      assert.equal((await answer).body.toString(), "late");
    });
  });
}
