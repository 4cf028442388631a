import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, type Process, startProcess, temporaryFolder } from "../../process/index.ts";
import { makeAuthority } from "../certificates.ts";
import { obtainTool } from "../tool.ts";

/** A Redis server on 127.0.0.1 without persistence. */
export interface Redis {
  /** redis://127.0.0.1:<port> */
  readonly url: string;
  readonly port: number;
  /** Stops the server if it runs, and starts it empty on the same port. */
  restart(): Promise<void>;
  /** Stops the server. `restart` may follow. */
  stop(): Promise<void>;
}

/**
 * Starts this machine's redis-server (installed when missing). It takes about 0.1 s.
 *
 * @param more Further command-line arguments.
 */
export async function startRedis(...more: readonly string[]): Promise<Redis> {
  const command = await obtainTool("redis-server");
  const port = await freePort();
  const start = () => {
    const folder = temporaryFolder("redis");
    const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder.path];
    args.push(...more);
    const ready = /Ready to accept connections/;
    return { folder, started: startProcess(command, args, { name: "redis-server", ready }) };
  };
  let running: { folder: { remove(): void }; process: Process } | undefined;
  const redis: Redis = {
    url: `redis://127.0.0.1:${port}`,
    port,
    async restart() {
      await redis.stop();
      const { folder, started } = start();
      running = { folder, process: await started };
    },
    async stop() {
      await running?.process.stop();
      running?.folder.remove();
      running = undefined;
    },
  };
  await redis.restart();
  return redis;
}

export interface TlsRedis extends Pick<Redis, "stop"> {
  /** The server's TLS port on 127.0.0.1. */
  readonly port: number;
  /** PEM file of the authority that signed the server's certificate. */
  readonly authorityFile: string;
  /** The contents of `authorityFile`. */
  readonly authority: string;
  /** PEM file of the server's private key; it contains no certificate. */
  readonly keyFile: string;
}

/**
 * Starts a Redis with TLS, with a certificate of a new authority.
 *
 * @param names DNS names of the certificate.
 */
export async function startTlsRedis(...names: readonly string[]): Promise<TlsRedis> {
  const folder = temporaryFolder("redis-tls");
  const [authorityFile, certFile, keyFile] = ["ca.pem", "redis.pem", "redis.key"].map((name) =>
    join(folder.path, name),
  ) as [string, string, string];
  const authority = await makeAuthority();
  const { certificate, key } = await authority.issue({ name: "redis", sans: names, usage: "server" });
  writeFileSync(authorityFile, authority.certificate);
  writeFileSync(certFile, certificate);
  writeFileSync(keyFile, key);
  const port = await freePort();
  const files = ["--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", authorityFile];
  const redis = await startRedis("--tls-port", String(port), ...files, "--tls-auth-clients", "no");
  return {
    port,
    authorityFile,
    authority: authority.certificate,
    keyFile,
    async stop() {
      await redis.stop();
      folder.remove();
    },
  };
}
