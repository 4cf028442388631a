/** An HTTP server that reads each request and always responds with the same JSON. Prints its port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const answer = JSON.stringify({ node: "sink", hash: "0".repeat(64), revision: 0, version: "0" });
const headers = { "content-type": "application/json", "content-length": answer.length };

const server = createServer({ keepAliveTimeout: 3_600_000 }, (request, response) => {
  request.resume().on("end", () => response.writeHead(200, headers).end(answer));
});
server.listen(0, "127.0.0.1", () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
