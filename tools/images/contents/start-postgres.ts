/**
 * The entrypoint of the image test-postgres: creates the data folder at the first start, with the settings in the
 * variables of Docker's official image, and then replaces its own process with Postgres.
 *
 * The variables are POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE (one is needed at the first start), POSTGRES_USER
 * (default postgres), POSTGRES_DB (default: the user's name) and PGDATA. Arguments are passed to Postgres; a first
 * argument `postgres` is ignored.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const programs = "/usr/lib/postgresql/bin";
const data = process.env.PGDATA ?? "/var/lib/postgresql/18/docker";
const { POSTGRES_USER: user = "postgres", POSTGRES_DB: database = user } = process.env;

if (!existsSync(join(data, "PG_VERSION"))) makeData();
const [first, ...others] = process.argv.slice(2);
const args = first === undefined || first === "postgres" ? others : [first, ...others];
const { POSTGRES_PASSWORD: _password, ...env } = process.env;
process.execve?.(
  `${programs}/postgres`,
  [`${programs}/postgres`, "-D", data, "-c", "listen_addresses=*", "-c", "unix_socket_directories=/tmp", ...args],
  env,
);

function makeData(): void {
  const partial = `${data}.partial`;
  // A partial data folder of an interrupted start is not usable.
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(dirname(data), { recursive: true });
  const passwordFile = "/tmp/password";
  writeFileSync(passwordFile, password(), { mode: 0o600 });
  const auth = ["--auth-host=scram-sha-256", "--auth-local=trust", `--pwfile=${passwordFile}`];
  const form = ["--encoding=UTF8", "--locale=C", "--no-sync"];
  run("initdb", [`--pgdata=${partial}`, `--username=${user}`, ...auth, ...form]);
  rmSync(passwordFile);
  writeFileSync(join(partial, "pg_hba.conf"), "local all all trust\nhost all all all scram-sha-256\n");
  if (database !== "postgres") {
    const statement = `CREATE DATABASE "${database.replaceAll('"', '""')}"\n`;
    run("postgres", ["--single", "-D", partial, "-c", "fsync=off", "postgres"], statement);
  }
  // Atomic: a folder with this name is complete. The rename replaces an empty folder.
  renameSync(partial, data);
}

function password(): string {
  const { POSTGRES_PASSWORD_FILE: file, POSTGRES_PASSWORD: given } = process.env;
  const text = file === undefined ? given : readFileSync(file, "utf8").trim();
  if (text) return text;
  process.stderr.write("POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE is needed to create the database\n");
  process.exit(1);
}

function run(program: string, args: readonly string[], input = ""): void {
  const { status, error } = spawnSync(`${programs}/${program}`, args, { input, stdio: ["pipe", "inherit", "inherit"] });
  if (status === 0) return;
  process.stderr.write(`${program} failed${error ? `: ${error.message}` : ""}\n`);
  process.exit(1);
}
