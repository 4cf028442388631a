/** Failing upstreams: responses to the client, retries, refused addresses and TLS (docs/decisions/0024). */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import { createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { certificateNamed } from "../../../gateway/src/compile/testing-entities.ts";
import { freePort } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial, receiveUntil, sendRequest } from "./client.ts";
import { type Engine, listen, portOf, type Rig, type RigOptions, startRig, startUpstream } from "./proxy-rig.ts";

/** Starts a TCP server that passes each connection to `serve` and speaks no HTTP; returns its port. */
async function startBare(test: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    serve(socket);
  });
  return portOf(await listen(test, server));
}

const ok: RequestListener = (request, response) => {
  request.resume().on("end", () => response.end("ok"));
};

const INVALID = "An invalid response was received from the upstream server";
const TIMING_OUT = "The upstream server is timing out";
const UNAVAILABLE = "The upstream server is currently unavailable";

export function failureSuite(engine: Engine): void {
  const answerOf = async (test: TestContext, options: RigOptions) => {
    const rig = await startRig(test, engine, options);
    return { ...(await answerFrom(rig)), rig };
  };

  describe(`upstreams that fail: the ${engine.name} engine`, () => {
    it("answers 502 when the upstream refuses connections, and logs once which address failed and how", async (test) => {
      const port = await freePort();
      const { status, message, rig } = await answerOf(test, { upstream: port });
      assert.deepEqual([status, message], [502, INVALID]);
      const [line, ...more] = rig.log;
      assert.equal(line?.message, `the upstream 127.0.0.1:${port} failed: connect ECONNREFUSED 127.0.0.1:${port}`);
      assert.partialDeepStrictEqual(line?.details, { upstream: `127.0.0.1:${port}`, code: "ECONNREFUSED" });
      assert.deepEqual(more, []);
    });

    it("answers 502 when the upstream closes without a response, or does not speak HTTP", async (test) => {
      const closing = await startBare(test, (socket) => socket.once("data", () => socket.destroy()));
      const babbling = await startBare(test, (socket) => socket.end("SSH-2.0\r\n"));
      for (const upstream of [closing, babbling]) {
        const { status, message } = await answerOf(test, { upstream });
        assert.deepEqual([status, message], [502, INVALID]);
      }
    });

    it("answers 504 when the response does not begin within read_timeout", async (test) => {
      const { status, message } = await answerOf(test, { upstream: () => {}, service: { read_timeout: 100 } });
      assert.deepEqual([status, message], [504, TIMING_OUT]);
    });

    it("answers 504 when no connection is established within connect_timeout", async (test) => {
      const upstream = await startBare(test, () => {});
      const service = { protocol: "https" as const, connect_timeout: 100, retries: 0 };
      const { status, message } = await answerOf(test, { upstream, service });
      assert.deepEqual([status, message], [504, TIMING_OUT]);
    });

    it("answers 504 when the upstream accepts no data of the body for write_timeout", async (test) => {
      const upstream = await startBare(test, (socket) => socket.pause());
      const { port } = await startRig(test, engine, { upstream, service: { write_timeout: 200 } });
      const body = Buffer.alloc(32 * 1024 * 1024);
      const { status } = await sendRequest(port, { method: "POST", body });
      assert.equal(status, 504);
    });

    it("applies the service's timeouts with a precision below a second", async (test) => {
      const deaf = await startBare(test, () => {});
      const late: readonly (readonly [RigOptions, number])[] = [
        [{ upstream: () => {}, service: { read_timeout: 300 } }, 300],
        [{ upstream: deaf, service: { protocol: "https", connect_timeout: 300, retries: 0 } }, 300],
        [{ upstream: deaf, service: { protocol: "https", connect_timeout: 100, retries: 2 } }, 300],
      ];
      for (const [options, expected] of late) {
        const { port } = await startRig(test, engine, options);
        const started = performance.now();
        assert.equal((await sendRequest(port)).status, 504);
        const taken = performance.now() - started;
        assert.ok(taken >= expected - 5 && taken < expected + 250, `${taken} ms instead of ${expected}`);
      }
    });

    it("starts read_timeout when the request has been sent, and pauses it while the client reads nothing", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (request, response) => {
          if (request.url === "/silent") return;
          const body = Buffer.alloc(16 * 1024 * 1024);
          request.resume().on("end", () => response.end(body));
        },
        service: { read_timeout: 200 },
      });
      /** Waits until two other requests have hit the same timeout, one after the other. */
      const timeoutsPassed = async () => {
        for (let n = 0; n < 2; n++) assert.equal((await sendRequest(port, { path: "/silent" })).status, 504);
      };
      const socket = await dial(test, port);
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n1");
      await timeoutsPassed();
      socket.write("2");
      await receiveUntil(socket, "200 OK");
      socket.pause();
      await timeoutsPassed();
      let received = 0;
      socket.on("data", (chunk: Buffer) => {
        received += chunk.length;
      });
      socket.resume();
      await once(socket, "close");
      assert.ok(received > 15 * 1024 * 1024, `${received} bytes`);
    });

    it("aborts a response that pauses for longer than read_timeout", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_request, response) => {
          response.writeHead(200, { "Content-Length": "100" }).write("half");
        },
        service: { read_timeout: 100 },
      });
      const { status, complete } = await sendRequest(port);
      assert.deepEqual({ status, complete }, { status: 200, complete: false });
    });

    it("answers 503 when the service's host does not resolve", async (test) => {
      const { status, message } = await answerOf(test, { service: { host: "sluice-test.invalid" } });
      assert.deepEqual([status, message], [503, "name resolution failed"]);
    });

    it("without Accept, answers in plain text, as nginx does, or in JSON if the request has that content type", async (test) => {
      const { port } = await startRig(test, engine, { upstream: await freePort() });
      const bare = await sendRequest(port);
      assert.equal(bare.headers["content-type"], "text/plain; charset=utf-8");
      const typed = await sendRequest(port, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: "{}",
      });
      assert.equal(typed.headers["content-type"], "application/json; charset=utf-8");
    });
  });

  describe(`refused addresses: the ${engine.name} engine`, () => {
    for (const host of ["127.0.0.1", "localhost", "0.0.0.0"]) {
      it(`refuses ${host} unless a setting allows it`, async (test) => {
        const options = { upstream: ok, service: { host } };
        const closed = await answerOf(test, { ...options, settings: { allowedUpstreams: [] } });
        assert.deepEqual([closed.status, closed.message], [503, UNAVAILABLE]);
        assert.match(JSON.stringify(closed.rig.log), /no entry of SLUICE_ALLOWED_UPSTREAMS allows/);
        const allowedUpstreams = ["127.0.0.0/8", "::1", "0.0.0.0"];
        const open = await startRig(test, engine, { ...options, settings: { allowedUpstreams } });
        assert.equal((await sendRequest(open.port)).body, "ok");
      });
    }

    for (const host of ["127.1", "0x7f000001", "2130706433", "::ffff:7f00:1", "::127.0.0.1", "0:0:0:0:0:0:0:1"]) {
      it(`refuses a disallowed address in the spelling ${host}`, async (test) => {
        const { status } = await answerOf(test, {
          upstream: ok,
          service: { host },
          settings: { allowedUpstreams: [] },
        });
        assert.equal(status, 503);
      });
    }

    for (const host of [
      ...["100.100.100.200", "168.63.129.16", "fd00:ec2::254", "0.1.2.3", "255.255.255.255", "224.0.0.1", "ff02::1"],
      ...["64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::1", "2002:a9fe:a9fe::"],
      ...["2001:db8::5efe:127.0.0.1", "0177.0.0.1", "0x7f.1", "017700000001", "0xa9fea9fe", "2852039166"],
    ]) {
      it(`refuses ${host} if no entry of SLUICE_ALLOWED_UPSTREAMS allows it`, async (test) => {
        const { status, rig } = await answerOf(test, {
          service: { host, retries: 0 },
          settings: { allowedUpstreams: [] },
        });
        assert.equal(status, 503);
        assert.match(JSON.stringify(rig.log), /which no entry of SLUICE_ALLOWED_UPSTREAMS allows/);
      });
    }

    it("refuses the link-local address of a cloud's metadata service", async (test) => {
      const { status, rig } = await answerOf(test, { service: { host: "169.254.169.254" } });
      assert.equal(status, 503);
      assert.match(JSON.stringify(rig.log), /169\.254\.169\.254:1 is a link-local address/);
    });

    it("refuses its own listeners even if loopback addresses are allowed", async (test) => {
      const rig = await startRig(test, engine);
      for (const host of ["127.0.0.1", "::ffff:127.0.0.1", "localhost"]) {
        await rig.swap({ upstream: rig.port, service: { host } });
        assert.equal((await answerFrom(rig)).status, 503);
      }
      assert.match(JSON.stringify(rig.log), /a listener of the gateway itself/);
    });

    it("refuses another listener of the gateway unless address and port are allowed together", async (test) => {
      const port = portOf(await startUpstream(test, ok));
      const settings = { ownListeners: [{ host: "0.0.0.0", port }] };
      assert.equal((await answerOf(test, { upstream: port, settings })).status, 503);
      const allowedUpstreams = [`127.0.0.1:${port}`];
      const open = await startRig(test, engine, { upstream: port, settings: { ...settings, allowedUpstreams } });
      assert.equal((await sendRequest(open.port)).status, 200);
    });
  });

  describe(`TLS to the upstream: the ${engine.name} engine`, () => {
    it("verifies the certificate and the name, unless tls_verify is false", async (test) => {
      const authority = await makeAuthority();
      const { certificate, key } = await authority.issue({ name: "up", sans: ["localhost"], usage: "server" });
      const names: unknown[] = [];
      const server = createTlsServer({ cert: certificate, key }, (request, response) => {
        names.push((request.socket as { servername?: unknown }).servername);
        response.end("ok");
      });
      const upstream = portOf(await listen(test, server));
      const service = { protocol: "https" as const, host: "localhost", retries: 0 };

      const strange = await answerOf(test, { upstream, service });
      assert.deepEqual([strange.status, strange.message], [502, INVALID]);
      const careless = await startRig(test, engine, { upstream, service: { ...service, tls_verify: false } });
      assert.equal((await sendRequest(careless.port)).body, "ok");

      const before = getCACertificates("default");
      test.after(() => setDefaultCACertificates(before));
      setDefaultCACertificates([authority.certificate]);
      const known = await startRig(test, engine, { upstream, service, route: { preserve_host: true } });
      assert.equal((await sendRequest(known.port, { headers: { Host: "client.example" } })).body, "ok");
      const misnamed = await answerOf(test, { upstream, service: { ...service, host: "127.0.0.1" } });
      assert.equal(misnamed.status, 502);
      assert.deepEqual(names, ["localhost", "localhost"], "the server name is the service's, not the client's");
    });
  });

  describe(`resumed TLS to the upstream: the ${engine.name} engine`, () => {
    /** An upstream whose response shows whether the TLS session was resumed; each response closes its connection. */
    async function startResumable(test: TestContext, options: ServerOptions = {}) {
      const authority = await makeAuthority();
      const issue = (name: string) => authority.issue({ name, sans: ["localhost"], usage: "server" });
      const { certificate: cert, key } = await issue("up");
      const server = createTlsServer({ cert, key, ca: authority.certificate, ...options }, ({ socket }, response) => {
        const { subject } = (socket as TLSSocket).getPeerCertificate();
        const resumed = (socket as TLSSocket).isSessionReused() ? "resumed" : "whole";
        response.setHeader("Connection", "close").end(`${resumed} ${subject?.CN ?? "nobody"}`);
      });
      return { upstream: portOf(await listen(test, server)), issue };
    }
    // undici, which engine `reply-from` uses, may not have received the session ticket yet, so only `http1` must resume
    // sessions.
    const isOurs = engine.name === "http1";
    const careless = { protocol: "https", host: "localhost", retries: 0, tls_verify: false } as const;

    for (const maxVersion of isOurs ? (["TLSv1.2", "TLSv1.3"] as const) : []) {
      it(`performs one full handshake with a target and resumes its session on other connections (${maxVersion})`, async (test) => {
        const { upstream } = await startResumable(test, { maxVersion });
        const { port } = await startRig(test, engine, { upstream, service: careless });
        const bodies = [];
        for (let turn = 0; turn < 4; turn++) bodies.push((await sendRequest(port)).body);
        assert.deepEqual(bodies, ["whole nobody", "resumed nobody", "resumed nobody", "resumed nobody"]);
      });
    }

    it("does not resume a session for another name or client certificate, nor a session whose server was not verified", async (test) => {
      const { upstream, issue } = await startResumable(test, { requestCert: true, rejectUnauthorized: false });
      const certificates = { one: await issue("one"), two: await issue("two") };
      const showing = (name: "one" | "two") => ({
        ...careless,
        client_certificate: { id: certificateNamed(name, certificates[name]).certificate.id },
      });
      const rig = await startRig(test, engine, { upstream, service: careless, certificates });
      const second = async () => {
        const { body } = await sendRequest(rig.port);
        return isOurs ? body : body.replace("whole", "resumed");
      };
      const twice = async () => [(await sendRequest(rig.port)).body, await second()];
      const agreed = (name: string) => [`whole ${name}`, `resumed ${name}`];
      assert.deepEqual(await twice(), agreed("nobody"));
      await rig.swap({ certificates, service: showing("one") });
      assert.deepEqual(await twice(), agreed("one"));
      await rig.swap({ certificates, service: showing("two") });
      assert.deepEqual(await twice(), agreed("two"));
      await rig.swap({ certificates, service: { ...careless, host: "127.0.0.1" } });
      assert.deepEqual(await twice(), agreed("nobody"));
      await rig.swap({ certificates, service: { ...careless, tls_verify: true } });
      assert.equal((await sendRequest(rig.port)).status, 502, "the authority is not trusted");
    });
  });

  describe(`retries and rotation: the ${engine.name} engine`, () => {
    const at = (port: number, terminating = false) => ({ address: "127.0.0.1", port, terminating });

    it("tries the next endpoint as often as `retries` allows", async (test) => {
      const [dead, deader, live] = [await freePort(), await freePort(), await startUpstream(test, ok)];
      const endpoints = [at(dead), at(deader), at(portOf(live))];
      assert.equal((await answerOf(test, { endpoints, service: { retries: 1 } })).status, 502);
      const rig = await startRig(test, engine, { endpoints, service: { retries: 2 } });
      const answers = [await sendRequest(rig.port), await sendRequest(rig.port, { method: "POST", body: "a body" })];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200],
      );
    });

    it("retries GET, but not POST, when the upstream closes a reused connection instead of answering", async (test) => {
      for (const [method, expected] of [
        ["GET", 200],
        ["POST", 502],
      ] as const) {
        const served = new WeakSet<Socket>();
        const upstream: RequestListener = (request, response) => {
          if (served.has(request.socket)) request.socket.destroy();
          else response.end("ok");
          served.add(request.socket);
        };
        const { port } = await startRig(test, engine, { upstream });
        assert.equal((await sendRequest(port)).status, 200);
        assert.equal((await sendRequest(port, { method })).status, expected, `${method} on a connection that closes`);
      }
    });

    it("uses endpoints in turn, and terminating endpoints only if there is no other endpoint", async (test) => {
      const named = async (name: string) =>
        portOf(await startUpstream(test, (_request, response) => response.end(name)));
      const [a, b, c] = [await named("a"), await named("b"), await named("c")];
      const rig = await startRig(test, engine, { endpoints: [at(a), at(b), at(c, true)] });
      const bodies = async () => {
        const all: string[] = [];
        for (let turn = 0; turn < 4; turn++) all.push((await sendRequest(rig.port)).body);
        return all.join("");
      };
      assert.equal(await bodies(), "abab");
      await rig.swap({ endpoints: [at(c, true)] });
      assert.equal(await bodies(), "cccc");
    });
  });
}

/** Sends a request. Returns the status, and the message of a JSON response or the whole body of any other response. */
async function answerFrom({ port }: Rig): Promise<{ readonly status: number; readonly message: unknown }> {
  const { status, body } = await sendRequest(port, { headers: { Accept: "application/json" } });
  return { status, message: body.startsWith("{") ? JSON.parse(body).message : body };
}
