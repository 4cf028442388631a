/** WebSocket upgrades: plugins run for the handshake as for any request; after it, bytes are tunnelled. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createNetServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { freePort } from "../../../tools/process/index.ts";
import { dial, receiveUntil, signal } from "./client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

const HANDSHAKE =
  "GET /chat?room=1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

const HTTP10 = "HTTP/1.0 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/**
 * Starts an upstream that accepts every upgrade, sends `hello ` and echoes all bytes. Returns its port, and the upgrade
 * requests that it receives.
 */
async function startEcho(test: TestContext, onSocket: (socket: Socket) => void = () => {}) {
  const requests: { url: string | undefined; headers: Record<string, unknown> }[] = [];
  const server = createServer((_request, response) => response.end("no upgrade here"));
  server.on("upgrade", (request, _socket, head: Buffer) => {
    const { socket } = request;
    requests.push({ url: request.url, headers: request.headers });
    socket.on("error", () => {});
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Up: 1\r\n\r\nhello ",
    );
    socket.write(head);
    socket.pipe(socket);
    onSocket(socket);
  });
  return { port: portOf(await listen(test, server)), requests };
}

/**
 * Starts an upstream that accepts every upgrade, sends `hello` and then only what the test writes, and never closes by
 * itself. Returns its port.
 */
async function startSilent(test: TestContext, onSocket: (socket: Socket) => void = () => {}) {
  const server = createServer();
  server.on("upgrade", ({ socket }) => {
    socket.on("error", () => {}).resume();
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
    onSocket(socket);
  });
  return portOf(await listen(test, server));
}

export function upgradeSuite(engine: Engine): void {
  describe(`upgrades: the ${engine.name} engine`, () => {
    it("tunnels a WebSocket both ways", async (test) => {
      const upstream = await startEcho(test);
      const { port } = await startRig(test, engine, { upstream: upstream.port, route: { paths: ["/chat"] } });
      const socket = await dial(test, port);
      socket.write(`${HANDSHAKE}early `);
      const head = await receiveUntil(socket, "hello early ");
      assert.match(head, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
      assert.match(head, /\r\nX-Up: 1\r\n/);
      assert.match(head, /\r\nUpgrade: websocket\r\n/);
      assert.match(head, /\r\nX-Sluice-Request-Id: [0-9a-f]{32}\r\n/);
      socket.write("later");
      await receiveUntil(socket, "later");
      const [request] = upstream.requests;
      assert.equal(request?.url, "/?room=1");
      assert.equal(request?.headers["x-forwarded-path"], "/chat");
      assert.equal(request?.headers["sec-websocket-version"], "13");
    });

    it("closes one side of a tunnel when the other side closes", async (test) => {
      for (const ends of ["client", "upstream"]) {
        const next = signal<Socket>();
        const echo = await startEcho(test, next.fire);
        const rig = await startRig(test, engine, { upstream: echo.port });
        const client = await dial(test, rig.port);
        client.write(HANDSHAKE);
        await receiveUntil(client, "hello");
        const far = await next.seen;
        const closed = once(ends === "client" ? far : client, "close");
        (ends === "client" ? client : far).destroy();
        client.resume();
        far.resume();
        await closed;
      }
    });

    it("closes a tunnel that carries no data for read_timeout, and no longer counts it as in flight", async (test) => {
      for (const client of ["is there", "has ended its half"]) {
        const upstream = await startSilent(test);
        const rig = await startRig(test, engine, {
          service: { read_timeout: 100 },
          pool: { upstream: { algorithm: "least-connections" }, targets: { [`127.0.0.1:${upstream}`]: 100 } },
        });
        const socket = await dial(test, rig.port);
        const ended = once(socket, "close");
        socket.write(HANDSHAKE);
        await receiveUntil(socket, "hello");
        const underWay = () => rig.balancer().entries[0]?.member.inFlight;
        assert.equal(underWay(), 1, client);
        if (client !== "is there") socket.end();
        await ended;
        while (underWay() !== 0) await new Promise(setImmediate);
      }
    });

    it("keeps a tunnel in which only the upstream sends data, at intervals shorter than read_timeout", async (test) => {
      const rig = await startRig(test, engine, {
        service: { read_timeout: 400 },
        upstream: await startSilent(test, (socket) => {
          let said = 0;
          const timer = setInterval(() => {
            if (++said === 15) clearInterval(timer);
            socket.write(`-${said}`);
          }, 40);
          socket.once("close", () => clearInterval(timer));
        }),
      });
      const socket = await dial(test, rig.port);
      socket.write(HANDSHAKE);
      await receiveUntil(socket, "-15");
    });

    const others: readonly (readonly [what: string, head: string])[] = [
      ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"],
      [
        "several protocols",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
      ],
      ["an HTTP/1.0 response", HTTP10],
    ];
    for (const [what, head] of others) {
      it(`answers 502 when an upstream accepts an upgrade with ${what}, and closes the upstream's connection`, async (test) => {
        const gone = signal();
        const server = createNetServer((socket) => {
          socket.on("error", () => {}).once("close", () => gone.fire());
          socket.once("data", () => socket.write(`${head}hello`));
        });
        const { port } = await startRig(test, engine, { upstream: portOf(await listen(test, server)) });
        const client = await dial(test, port);
        client.write(HANDSHAKE);
        assert.match(await receiveUntil(client, "request_id"), /^HTTP\/1\.1 502 /);
        await gone.seen;
      });
    }

    it("tunnels when the upstream's response writes the protocol's name in another case than the request", async (test) => {
      const server = createNetServer((socket) => {
        const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n";
        socket.on("error", () => {}).once("data", () => socket.write(`${head}hello`));
      });
      const { port } = await startRig(test, engine, { upstream: portOf(await listen(test, server)) });
      const client = await dial(test, port);
      client.write(HANDSHAKE);
      assert.match(await receiveUntil(client, "hello"), /^HTTP\/1\.1 101 /);
    });

    it("does not tunnel when a plugin answers", async (test) => {
      const upstream = await startEcho(test);
      const { port } = await startRig(test, engine, {
        upstream: upstream.port,
        plugins: { "key-auth": { access: async () => ({ status: 401, message: "No API key found in request" }) } },
      });
      const socket = await dial(test, port);
      socket.write(HANDSHAKE);
      const answer = await receiveUntil(socket, "No API key");
      assert.match(answer, /^HTTP\/1\.1 401 Unauthorized\r\n/);
      await once(socket, "close");
      assert.deepEqual(upstream.requests, []);
    });

    it("answers 404 to an upgrade that no route matches", async (test) => {
      const { port } = await startRig(test, engine, { route: { paths: ["/other"] } });
      const socket = await dial(test, port);
      socket.write(HANDSHAKE);
      assert.match(await receiveUntil(socket, "no Route"), /^HTTP\/1\.1 404 /);
    });

    it("forwards a response that does not accept the upgrade, and closes the client's connection", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_request, response) => response.writeHead(403, { "X-Why": "closed" }).end("not today"),
      });
      const socket = await dial(test, port);
      socket.write(HANDSHAKE);
      const answer = await receiveUntil(socket, "not today");
      assert.match(answer, /^HTTP\/1\.1 403 Forbidden\r\n.*X-Why: closed\r\n/s);
      await once(socket, "close");
    });

    it("answers 502 when the upstream refuses connections, and 503 when the settings do not allow its address", async (test) => {
      const upstream = await freePort();
      for (const [allowedUpstreams, status] of [
        [["127.0.0.1"], 502],
        [[], 503],
      ] as const) {
        const { port } = await startRig(test, engine, { upstream, settings: { allowedUpstreams } });
        const socket = await dial(test, port);
        socket.write(HANDSHAKE);
        assert.match(await receiveUntil(socket, "request_id"), new RegExp(`^HTTP/1\\.1 ${status} `));
      }
    });

    it("answers 504 when the upstream does not answer the upgrade within read_timeout", async (test) => {
      const server = createServer();
      server.on("upgrade", () => {});
      const upstream = portOf(await listen(test, server));
      const { port } = await startRig(test, engine, { upstream, service: { read_timeout: 100 } });
      const socket = await dial(test, port);
      socket.write(HANDSHAKE);
      assert.match(await receiveUntil(socket, "request_id"), /^HTTP\/1\.1 504 /);
    });

    const plain: readonly (readonly [what: string, request: string])[] = [
      ["with a body", `${HANDSHAKE.slice(0, -2)}Content-Length: 2\r\n\r\nhi`],
      ["with a chunked body", `${HANDSHAKE.slice(0, -2)}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`],
      ["in HTTP/1.0", HANDSHAKE.replace("HTTP/1.1", "HTTP/1.0")],
    ];
    for (const [what, request] of plain) {
      it(`serves a handshake ${what} as an ordinary request`, async (test) => {
        const upstream = await startEcho(test);
        const { port } = await startRig(test, engine, { upstream: upstream.port });
        const socket = await dial(test, port);
        socket.write(request);
        assert.match(await receiveUntil(socket, "no upgrade here"), /^HTTP\/1\.1 200 /);
        assert.deepEqual(upstream.requests, []);
      });
    }

    it("forwards a request to upgrade to another protocol as an ordinary request without Upgrade", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (request, response) => response.end(`upgrade: ${request.headers.upgrade}`),
      });
      const socket = await dial(test, port);
      socket.write(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
      );
      assert.match(await receiveUntil(socket, "upgrade: undefined"), /^HTTP\/1\.1 200 /);
    });
  });
}
