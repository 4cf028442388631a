import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";

import { builtProgram } from "../../tools/build/programs.ts";
import { withUserDatabase } from "../../tools/programs/servers/embedded-database.ts";
import { demoUser } from "./commands/seed.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly err?: { readonly message: string };
}

interface Started {
  readonly child: ChildProcess;
  readonly lines: Line[];
  /** Resolves to the first message that matches; rejects when the process ends without such a message. */
  line(pattern: RegExp): Promise<string>;
  readonly exit: Promise<unknown[]>;
}

const program = await builtProgram("user-api");

const running = new Set<ChildProcess>();

const NEEDS_CONSUMER =
  /^\{"errors":\[\{"message":"Query\.users needs a consumer: [^"]+","locations":\[[^\]]+\],"path":\["users"\],"extensions":\{"code":"UNAUTHENTICATED"\}\}\],"data":\{"users":null\}\}$/;

/** The command as a process of its own. Every line that it writes must be JSON. */
function start(environment: Record<string, string>, ...given: string[]): Started {
  const child = spawn(program, given, {
    env: {
      PATH: process.env.PATH,
      // Set by `npm test`; the cache halves the start-up time of a process.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      SLUICE_USER_API_LISTEN: "127.0.0.1:0",
      SLUICE_USER_API_MODE: "development",
      ...environment,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  const lines: Line[] = [];
  const reader = createInterface(child.stdout);
  const closed = once(reader, "close").then(() => null);
  reader.on("line", (text) => lines.push(JSON.parse(text)));
  // "close" comes after all output of the process was read.
  const exit = once(child, "close").finally(() => running.delete(child));
  return {
    child,
    lines,
    exit,
    async line(pattern) {
      for (;;) {
        const found = lines.find(({ msg }) => pattern.test(msg));
        if (found !== undefined) return found.msg;
        if ((await Promise.race([once(reader, "line"), closed])) === null) {
          throw new Error(`no line like ${pattern} in ${JSON.stringify(lines)}`);
        }
      }
    },
  };
}

describe("sluice-user-api", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "user-api-"));
    await withUserDatabase(folder);
  });
  after(async () => {
    for (const child of running) child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  it("serves from a folder, prevents a second process from using it, and stops gracefully on SIGTERM", async () => {
    const first = start({ SLUICE_USER_API_DATA: folder });
    const url = (await first.line(/^GraphQL at /)).replace("GraphQL at ", "");
    const query = 'mutation { createUser(name: "Ann", email: "ann@example.org") { name } }';
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ query }) });
    assert.deepEqual(await response.json(), { data: { createUser: { name: "Ann" } } });

    const second = start({ SLUICE_USER_API_DATA: folder });
    assert.deepEqual(await second.exit, [1, null]);
    assert.match(
      await second.line(/SLUICE_USER_API_DATA/),
      new RegExp(`the folder ${folder} is in use by process ${first.child.pid};`),
    );

    first.child.kill("SIGTERM");
    assert.deepEqual(await first.exit, [0, null]);
    await first.line(/^stopped$/);
    assert.deepEqual(await readdir(folder), ["pglite"]);
  });

  it("reports a port that is in use, and the setting that changes it", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { exit, line } = start({ SLUICE_USER_API_DATA: folder, SLUICE_USER_API_LISTEN: `127.0.0.1:${port}` });
    assert.deepEqual(await exit, [1, null]);
    await line(new RegExp(`^port ${port} of 127.0.0.1 is in use; SLUICE_USER_API_LISTEN sets another one$`));
    server.close();
  });

  it("reports a database that cannot be reached, without its password", async () => {
    const url = "postgres://sluice:hunter2@127.0.0.1:1/users";
    const { exit, line, lines } = start({ SLUICE_USER_API_DATABASE_URL: url });
    assert.deepEqual(await exit, [1, null]);
    await line(/^cannot use the database 127.0.0.1:1\/users of SLUICE_USER_API_DATABASE_URL: connect ECONNREFUSED/);
    assert.doesNotMatch(JSON.stringify(lines), /hunter2/);
  });

  it("waits for a database as long as the argument of migrate allows, and logs once that it waits", async () => {
    const url = "postgres://sluice:hunter2@127.0.0.1:1/users";
    const began = performance.now();
    const { exit, line, lines } = start({ SLUICE_USER_API_DATABASE_URL: url }, "migrate", "1");
    await line(/^the database cannot be reached yet: connect ECONNREFUSED 127.0.0.1:1$/);
    assert.deepEqual(await exit, [1, null]);
    assert.ok(performance.now() - began >= 1_000);
    assert.deepEqual(
      lines.map(({ msg }) => msg.split(" ").slice(0, 4).join(" ")),
      ["the database cannot be", "cannot use the database"],
    );
  });

  it("creates tables and demo users by commands, each once, and serves them", async () => {
    const data = { SLUICE_USER_API_DATA: await withUserDatabase(join(folder, "demo")) };
    const run = async (...given: string[]) => {
      const { exit, line } = start(data, ...given);
      assert.deepEqual(await exit, [0, null]);
      return line(/step|created/);
    };
    assert.equal(await run("migrate"), "the tables were migrated from step 0 to step 3");
    assert.equal(await run("migrate"), "the tables are up to date (step 3)");
    assert.equal(await run("seed", "3"), "created 3 users; 0 existed");
    assert.equal(await run("seed", "4"), "created 1 users; 3 existed");
    const { child, line, exit } = start({ ...data, SLUICE_USER_API_MIGRATE: "false" });
    const url = (await line(/^GraphQL at /)).replace("GraphQL at ", "");
    const response = await fetch(`${url}?query={users{name,posts{title}}}`);
    const { data: answer } = (await response.json()) as {
      data: { users: { name: string; posts: { title: string }[] }[] };
    };
    assert.deepEqual(
      answer.users.map(({ name, posts }) => [name, ...posts.map(({ title }) => title)]),
      [0, 1, 2, 3].map(demoUser).map(({ name, posts }) => [name, ...posts]),
    );
    child.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null]);
  });

  it("names, if it may not create the tables itself, the command that creates them", async () => {
    const SLUICE_USER_API_DATA = await withUserDatabase(join(folder, "empty"));
    const { exit, line } = start({ SLUICE_USER_API_DATA, SLUICE_USER_API_MIGRATE: "false" });
    assert.deepEqual(await exit, [1, null]);
    await line(/its tables are at step 0 of 3; the command "sluice-user-api migrate" brings them up to date$/);
  });

  const deaths = [
    ["its thread ends", "process.exit(0)", "its thread has ended"],
    ["its thread fails", 'throw new Error("out of luck")', "out of luck"],
    [
      "WebAssembly aborts",
      "PGlite.prototype.query = async () => { throw new WebAssembly.RuntimeError('oom'); }",
      "oom",
    ],
  ] as const;
  for (const [what, death, reason] of deaths) {
    it(`logs the reason and exits with 1 when the embedded database stops: ${what}`, async () => {
      // Loaded by the main thread and by the database's thread; only the main thread receives signals.
      const preload = `
        import { BroadcastChannel, isMainThread } from "node:worker_threads";
        const channel = new BroadcastChannel("death");
        if (isMainThread) process.on("SIGUSR2", () => channel.postMessage("now"));
        else {
          const { PGlite } = await import(${JSON.stringify(import.meta.resolve("@electric-sql/pglite"))});
          channel.onmessage = () => { ${death}; };
        }
        channel.unref();`;
      const file = join(folder, "preload.mjs");
      await writeFile(file, preload);
      const SLUICE_USER_API_DATA = await withUserDatabase(join(folder, what));
      const { child, line, lines, exit } = start({ SLUICE_USER_API_DATA, NODE_OPTIONS: `--import ${file}` });
      const url = (await line(/^GraphQL at /)).replace("GraphQL at ", "");
      child.kill("SIGUSR2");
      while (child.exitCode === null) {
        await fetch(new URL("/readyz", url)).catch(() => undefined);
      }
      assert.deepEqual(await exit, [1, null]);
      await line(/^the embedded database stopped; exiting, so that a supervisor can restart the process$/);
      const fatal = lines.filter(({ level }) => level === 60);
      assert.deepEqual([fatal.length, fatal[0]?.err?.message], [1, reason]);
      assert.equal(lines.at(-1)?.msg, "stopped");
    });
  }

  it("does not start in production without the gateway's secret", async () => {
    const { exit, line } = start({ SLUICE_USER_API_MODE: "production" });
    assert.deepEqual(await exit, [1, null]);
    await line(/^SLUICE_USER_API_GATEWAY_SECRET must be set/);
  });

  it("in production answers callers that the gateway has authenticated, has no introspection and no GraphiQL, and executes only trusted documents", async () => {
    const file = join(folder, "trusted.json");
    await writeFile(
      file,
      JSON.stringify({ all: "query All { users { id } }", schema: "{ __schema { types { name } } }" }),
    );
    const secret = "0123456789abcdef";
    const { child, line, lines, exit } = start({
      SLUICE_USER_API_DATA: await withUserDatabase(join(folder, "production")),
      SLUICE_USER_API_MODE: "production",
      SLUICE_USER_API_GATEWAY_SECRET: secret,
      SLUICE_USER_API_TRUSTED_DOCUMENTS: file,
    });
    const url = (await line(/^GraphQL at /)).replace("GraphQL at ", "");
    const accept = { accept: "application/graphql-response+json" };
    const vouched = { ...accept, "x-gateway-secret": secret };
    const consumer = { ...vouched, "x-consumer-id": "1" };
    const cases = [
      ["/graphql?documentId=all", accept, 401, /UNAUTHENTICATED/],
      ["/graphql?documentId=all", { ...consumer, "x-gateway-secret": "another-secret-1" }, 401, /UNAUTHENTICATED/],
      ["/graphql?documentId=all", vouched, 200, NEEDS_CONSUMER],
      ["/graphql?documentId=all", consumer, 200, /^\{"data":\{"users":\[\]\}\}$/],
      ["/graphql?documentId=schema", consumer, 400, /introspection has been disabled/i],
      ["/graphql?query={users{name}}", consumer, 400, /PERSISTED_QUERY_NOT_FOUND/],
      ["/graphiql", consumer, 404, /./],
      ["/healthz", {}, 200, /"status":"ok"/],
      ["/metrics", {}, 200, /process_cpu_seconds_total/],
    ] as const;
    for (const [path, headers, status, text] of cases) {
      const response = await fetch(new URL(path, url), { headers });
      assert.equal(response.status, status, path);
      assert.match(await response.text(), text);
    }
    child.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null]);
    assert.doesNotMatch(JSON.stringify(lines), new RegExp(secret));
  });

  const manifests = [
    ["is missing", null, /^cannot read the file of SLUICE_USER_API_TRUSTED_DOCUMENTS: ENOENT/],
    ["is not JSON", "{", /^the file of SLUICE_USER_API_TRUSTED_DOCUMENTS: it is not JSON/],
    [
      "has a document that does not fit the schema",
      '{"a":"{ users { nobody } }"}',
      /the trusted document a: Cannot query field/,
    ],
  ] as const;
  for (const [what, content, message] of manifests) {
    it(`reports a manifest of trusted documents that ${what}`, async () => {
      const file = join(folder, "manifest.json");
      await rm(file, { force: true });
      if (content !== null) await writeFile(file, content);
      const { exit, line } = start({ SLUICE_USER_API_TRUSTED_DOCUMENTS: file });
      assert.deepEqual(await exit, [1, null]);
      await line(message);
    });
  }

  it("reports a field of the policy that the schema does not have", async () => {
    const { exit, line } = start({ SLUICE_USER_API_POLICY: "Query.users=anonymous,User.age=authenticated" });
    assert.deepEqual(await exit, [1, null]);
    await line(/^SLUICE_USER_API_POLICY names User.age, but the schema has no such field$/);
  });

  const version = /^\d+\.\d+\.\d+\n$/;
  for (const [words, code, output] of [
    ["--help", 0, /^usage: sluice-user-api \[COMMAND\]\n[\s\S]*\n {2}SLUICE_USER_API_LISTEN\n/],
    ["help", 0, /^usage: sluice-user-api/],
    ["serve --help", 0, /^usage: sluice-user-api/],
    ["seed -h", 0, /^usage: sluice-user-api/],
    ["migrate --help", 0, /^usage: sluice-user-api/],
    ["--version", 0, version],
    ["version", 0, version],
    ["seed --version", 0, version],
    ["grow", 2, /^sluice-user-api: unknown command 'grow'\nTry 'sluice-user-api --help'\.\n$/],
    ["sed", 2, /unknown command 'sed', did you mean seed\?\n/],
    ["--prot", 2, /unknown option '--prot'\n/],
    ["serve --vresion", 2, /unknown option '--vresion', did you mean --version\?\n/],
    ["serve now", 2, /unexpected argument 'now'\n/],
    ["seed many", 2, /'many' is not a number of users with at most 6 digits\n/],
    ["seed 1 2", 2, /unexpected argument '2'\n/],
    ["migrate now", 2, /'now' is not a number of seconds with at most 4 digits\n/],
    ["migrate 12345", 2, /'12345' is not a number of seconds with at most 4 digits\n/],
  ] as const) {
    it(`exits with code ${code} for the arguments ${words}`, () => {
      const { status, stdout, stderr } = spawnSync(program, words.split(" "), { encoding: "utf8" });
      assert.match(stdout + stderr, output);
      assert.equal(status, code);
      assert.equal(code === 0 ? stderr : stdout, "");
    });
  }

  it("reports every invalid setting", async () => {
    const { exit, lines } = start({ SLUICE_USER_API_LISTEN: "x", SLUICE_USER_API_ACCESS: "x" });
    assert.deepEqual(await exit, [1, null]);
    assert.deepEqual(
      lines.map(({ msg }) => msg.split(" ")[0]),
      ["SLUICE_USER_API_LISTEN", "SLUICE_USER_API_ACCESS"],
    );
  });
});
