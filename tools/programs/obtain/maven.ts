import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { startProcess } from "../../process/index.ts";
import { fromApt } from "./apt.ts";
import { cacheFolder, cacheKeyOf } from "./cache.ts";
import { oneAtATime } from "./one-at-a-time.ts";

/** A program in an archive (tar.gz) of a Maven repository, with one folder at the top. */
export interface MavenTool {
  readonly name: string;
  /** `group:artifact:version`. */
  readonly artifact: string;
  /** SHA-256 of the archive, in hexadecimal. */
  readonly sha256: string;
  /** Path of the executable below the top folder. */
  readonly executable: string;
  /** Arguments with which the unpacked executable runs once during the installation. Default: it does not run. */
  readonly prepare?: readonly string[];
  /** The size of the download, for the progress line. */
  readonly size: string;
}

/** Maven's plugin that downloads files. */
const PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";

const maven = fromApt({ commands: ["mvn"], package: "maven", size: "about 15 MB, and a Java runtime" });

/**
 * Returns a function that installs the program into the cache with Maven when missing, and resolves to the executable's
 * path. Maven downloads from the repository that its settings name.
 *
 * The function rejects when Maven is missing or fails, with the end of Maven's output, and when the archive does not
 * have the expected hash.
 */
export function fromMaven(wanted: MavenTool): (say: (line: string) => void) => Promise<string> {
  const { name, artifact, sha256, executable, prepare = [], size } = wanted;
  return async (say) => {
    const folder = join(
      cacheFolder(),
      `${name}-${cacheKeyOf({ files: [], settings: [artifact, sha256, ...prepare] })}`,
    );
    const path = join(folder, executable);
    if (existsSync(path)) return path;
    const command = await maven(say);
    return oneAtATime(`mvn ${name}`, async () => {
      if (existsSync(path)) return path;
      say(`${name}: downloading with Maven, ${size}`);
      const partial = `${folder}.${process.pid}`;
      try {
        const archive = await download(command, artifact, partial);
        const found = await hashOf(archive);
        if (found !== sha256) throw new Error(`${artifact}: the archive has the SHA-256 ${found}, not ${sha256}`);
        const top = join(partial, "program");
        mkdirSync(top);
        await run("tar", ["-xzf", archive, "--strip-components=1", "-C", top]);
        if (prepare.length > 0) await run(join(top, executable), prepare);
        renameSync(top, folder);
      } finally {
        rmSync(partial, { recursive: true, force: true });
      }
      return path;
    });
  };
}

/**
 * Downloads the archive into the folder and resolves to the archive's path. Maven's local repository is in the folder
 * too, so that no second copy is kept.
 */
async function download(maven: string, artifact: string, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const target = join(folder, "archive");
  await run(maven, [
    ...["--batch-mode", "--no-transfer-progress", PLUGIN, `-Dmaven.repo.local=${join(folder, "repository")}`],
    ...[`-Dartifact=${artifact}:tar.gz`, `-DoutputDirectory=${target}`],
  ]);
  const [file = ""] = readdirSync(target);
  return join(target, file);
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const started = await startProcess(command, args, { name: command });
  const { code } = await started.ended();
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${started.tail()}`);
}
