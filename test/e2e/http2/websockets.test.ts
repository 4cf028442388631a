/** A real Chromium opens a WebSocket on the HTTP/2 connection over which it got the page (RFC 8441). */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import type { Exchange } from "@sluice/plugin-sdk";
import { WebSocketServer } from "ws";
import { createHttp1Proxy } from "../../../gateway/src/proxy/http1/listener.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { launchBrowser } from "../../../tools/programs/browser.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { listen, portOf, startRig } from "../../conformance/engine/proxy-rig.ts";

test("a page exchanges messages over a WebSocket of its HTTP/2 connection, compressed and with a subprotocol", async (context) => {
  const server = await listen(
    context,
    createServer((_request, response) => response.setHeader("content-type", "text/html").end("<title>page</title>")),
  );
  const sockets = new WebSocketServer({ server, path: "/chat", perMessageDeflate: { threshold: 0 } });
  context.after(() => sockets.close());
  sockets.on("connection", (socket) => {
    socket.on("message", (message) => socket.send(`${message} and back`));
  });
  const requests: string[] = [];
  const authority = await makeAuthority();
  const pair = await authority.issue({ name: "localhost", sans: ["localhost"], usage: "server" });
  const { tlsPort } = await startRig(
    context,
    { name: "http1", createProxy: createHttp1Proxy },
    {
      upstream: portOf(server),
      certificates: { "*": pair },
      plugins: {
        "http-log": {
          log: ({ request, status }: Exchange) =>
            void requests.push(`${request.httpVersion} ${request.method} ${request.path} ${status}`),
        },
      },
    },
  );
  const browser = await launchBrowser();
  context.after(() => browser.close());
  const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
  await page.goto(`https://localhost:${tlsPort}/`);
  // The code is a string, because a function that runs in the page would need the types of the DOM.
  const seen = await page.evaluate(`new Promise((resolve, reject) => {
    const socket = new WebSocket(location.href.replace("https", "wss") + "chat", ["chat"]);
    socket.onopen = () => socket.send("there");
    socket.onmessage = ({ data }) => {
      const { protocol, extensions } = socket;
      socket.onclose = ({ code, wasClean }) => resolve({ data, protocol, extensions, code, wasClean });
      socket.close(1000);
    };
    socket.onerror = () => reject(new Error("the WebSocket failed"));
  })`);
  assert.deepEqual(seen, {
    data: "there and back",
    protocol: "chat",
    extensions: "permessage-deflate",
    code: 1000,
    wasClean: true,
  });
  await waitFor(() => requests.includes("2 GET /chat 101"), { what: "the end of the request" });
});
