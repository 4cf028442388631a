/** A server that is not a node, with a node's certificate. */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { PushCertificateFiles } from "../../../tools/cluster/push-certificates.ts";

export interface FalseResponse {
  /** Default 200. */
  readonly status?: number;
  readonly body?: string;
  /** The connection is cut after the body. */
  readonly cut?: true;
  /** The body is endless, sent as fast as it is read. */
  readonly endless?: true;
}

export interface FalseNode {
  readonly url: string;
  /** The response to every request. */
  answer: FalseResponse;
  /** Whether this object was the response to the latest request. */
  asked(answer: FalseResponse): boolean;
  close(): Promise<void>;
}

const PIECE = Buffer.alloc(64 * 1024, " ");

function* forever(): Generator<Buffer> {
  for (;;) yield PIECE;
}

export async function startFalseNode({ node }: PushCertificateFiles): Promise<FalseNode> {
  const { SLUICE_PUSH_TLS_CERT: cert = "", SLUICE_PUSH_TLS_KEY: key = "" } = node;
  let given: FalseResponse | undefined;
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    request.resume();
    const { answer } = falseNode;
    given = answer;
    const { status = 200, body = "", cut, endless } = answer;
    response.on("error", () => {});
    response.writeHead(status, { "content-type": "application/json" });
    if (endless)
      Readable.from(forever())
        .on("error", () => {})
        .pipe(response);
    else if (cut) response.write(body, () => request.socket.destroy());
    else response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const falseNode: FalseNode = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: { status: 500, body: "not yet" },
    asked: (answer) => given === answer,
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
  return falseNode;
}
