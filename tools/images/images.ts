import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buildPrograms } from "../build/programs.ts";
import { repositoryRoot, sourcePaths } from "../check/source-files.ts";
import { cacheFolder, cacheKeyOf } from "../programs/obtain/cache.ts";
import { oneAtATime } from "../programs/obtain/one-at-a-time.ts";
import { obtainTool } from "../programs/tool.ts";
import { type Image, writeArchive } from "./archive/oci.ts";
import { type ImageKit, imageSources, makeImageKit, sourceRevision, workloadImage } from "./build.ts";
import { librariesOf } from "./contents/libraries.ts";
import { postgresImage, redisImage } from "./contents/stand-ins.ts";
import { type WorkloadName, workloads } from "./contents/workloads.ts";

/** Sluice's workloads, and servers that they connect to in a cluster that cannot pull images. */
export type ImageName = WorkloadName | "test-postgres" | "test-redis";

/** Images in a file for `ctr -n k8s.io images import`. */
export interface Images {
  /** Path of the archive, an OCI image layout. Shared layers are stored once. */
  readonly tar: string;
  readonly images: Readonly<Record<ImageName, BuiltImage>>;
}

export interface BuiltImage {
  /** For example docker.io/sluice/gateway:0.1.0; a pod may call it sluice/gateway:0.1.0. */
  readonly name: string;
  readonly digest: string;
}

/**
 * All images, from the cache or built from the current sources, which takes about 10 s.
 *
 * @param say Called with a line of progress before a build.
 */
export async function runImages(
  say: (line: string) => void = (line) => process.stderr.write(`${line}\n`),
): Promise<Images> {
  const redis = await obtainTool("redis-server");
  const folder = join(cacheFolder(), `images-${keyOfSources(redis)}`);
  const make = async () => {
    if (!existsSync(folder)) await build(folder, say);
    return read(folder);
  };
  const cached = existsSync(folder)
    ? read(folder)
    : await oneAtATime("images", make, () => say("images: another process is building them, waiting"));
  forgetOld(folder);
  return cached;
}

/** Builds every image: those of the workloads, then those of the test servers. */
export async function buildAll(kit: ImageKit = makeImageKit()): Promise<readonly Image[]> {
  await buildPrograms();
  const ours = Object.values(workloads).map((workload) => workloadImage(workload, kit));
  return [...ours, await postgresImage(kit), await redisImage()];
}

const list = "images.json";

async function build(folder: string, say: (line: string) => void): Promise<void> {
  say("images: building, about 10 s");
  const all = await buildAll();
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  writeArchive(join(partial, "images.tar"), all);
  const built = all.map(({ name, digest }) => [name.replace(/^.*\/|:.*$/g, ""), { name, digest }] as const);
  writeFileSync(join(partial, list), JSON.stringify(Object.fromEntries(built)));
  renameSync(partial, folder);
}

const read = (folder: string): Images => ({
  tar: join(folder, "images.tar"),
  images: JSON.parse(readFileSync(join(folder, list), "utf8")),
});

/** A key that changes with every input of the images. */
function keyOfSources(redis: string): string {
  const isSource = (path: string) => imageSources.some((source) => path === source || path.startsWith(`${source}/`));
  const files = sourcePaths().filter((path) => isSource(path) && !path.endsWith(".test.ts"));
  const contents = files.flatMap((path) => [path, readFileSync(join(repositoryRoot, path), "latin1")]);
  const programs = [redis, process.execPath, "/bin/sh"];
  const machine = [...programs, ...librariesOf(programs)].map(
    (path) => `${path} ${statSync(path).size} ${statSync(path).mtimeMs}`,
  );
  return cacheKeyOf({ files: [], settings: [...contents, ...machine, sourceRevision() ?? "", process.arch] });
}

/** Removes old archives. Keeps the requested archive and two more, which concurrent suites may use. */
function forgetOld(used: string): void {
  utimesSync(used, new Date(), new Date());
  const age = (name: string) => statSync(join(cacheFolder(), name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const kept = readdirSync(cacheFolder()).filter((name) => /^images-[0-9a-f]+$/.test(name));
  const old = kept.toSorted((a, b) => age(b) - age(a)).slice(3);
  for (const name of old) rmSync(join(cacheFolder(), name), { recursive: true, force: true });
}
