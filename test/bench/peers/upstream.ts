/** An upstream that responds to each complete request with 100 bytes of JSON. Prints its port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const body = JSON.stringify({ message: "x".repeat(86) });
const head = { "content-type": "application/json", "content-length": body.length };
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  request.resume().once("end", () => response.writeHead(200, head).end(body));
});
server.listen(0, "127.0.0.1", () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
process.once("SIGTERM", () => server.close().closeAllConnections());
