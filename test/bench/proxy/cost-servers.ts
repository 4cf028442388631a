/** The servers and tokens for the plugins in the table of costs. */
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A JSON Web Token that is signed with HS256. */
export function hmacToken(claims: object, secret: string): string {
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** Starts a TCP and a UDP server in this process, on the same port number, that read lines and send nothing. */
export async function startLineReaders(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer((socket) => socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const datagrams = createSocket("udp4").bind(port, "127.0.0.1");
  await once(datagrams, "listening");
  const close = () => {
    server.close();
    datagrams.close();
  };
  return { port, close };
}

export interface TokenProvider {
  readonly issuer: string;
  /** An access token (ES256) that is valid for a day. */
  readonly token: string;
  close(): void;
}

/** Starts an OpenID provider that serves its discovery document and its key. */
export async function startTokenProvider(): Promise<TokenProvider> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "bench", alg: "ES256", use: "sig" }];
  const server = createHttpServer((request, response) => {
    const documents = { issuer, jwks_uri: `${issuer}/jwks` };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(request.url === "/jwks" ? { keys } : documents));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const now = Math.floor(Date.now() / 1000);
  const text = `${part({ alg: "ES256", kid: "bench" })}.${part({ iss: issuer, sub: "bench", iat: now, exp: now + 86_400 })}`;
  const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return { issuer, token: `${text}.${signature.toString("base64url")}`, close: () => server.close() };
}
