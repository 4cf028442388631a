/**
 * The lower bound for TLS handshakes: Node's TLS server, which ends each connection with its first data. Its arguments
 * are the files of a certificate and its key. Prints its port.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:tls";

const [certificate = "", key = ""] = process.argv.slice(2);
const contents = { cert: readFileSync(certificate), key: readFileSync(key) };
const server = createServer({ ...contents, noDelay: true, ALPNProtocols: ["h2", "http/1.1"] }, (client) => {
  client.once("data", () => client.end());
  // The load generator closes its connections abruptly.
  client.on("error", () => client.destroy());
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") console.log(`listening on ${address.port}`);
});
process.once("SIGTERM", () => process.exit(0));
