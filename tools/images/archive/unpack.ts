import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../process/index.ts";
import { type ImageName, images } from "../images.ts";
import type { RunAs } from "./oci.ts";

/** An unpacked image, as in a container runtime. */
export interface Unpacked {
  readonly runAs: RunAs;
  /** Folders with the files of the layers, the lowest first. Images that share a layer share its folder. */
  readonly layers: readonly string[];
  /** How tar lists each path, in the highest layer that contains it. */
  readonly list: ReadonlyMap<string, Listed>;
}

/** A line of `tar -tv`. */
export interface Listed {
  /** In the form of `ls -l`: -rwxr-xr-x */
  readonly mode: string;
  /** uid/gid */
  readonly owner: string;
  readonly size: number;
  readonly time: string;
}

interface Described {
  readonly digest: string;
}

/** Unpacks all images from their archive, by standard tools instead of our code. `remove` deletes the files again. */
export async function unpackImages(): Promise<{ all: Readonly<Record<ImageName, Unpacked>>; remove(): void }> {
  const { tar, images: built } = await images();
  const folder = temporaryFolder("images");
  execFileSync("tar", ["-xf", tar, "-C", folder.path]);
  const blob = ({ digest }: Described) => join(folder.path, "blobs", digest.replace(":", "/"));
  const parsed = (described: Described) => JSON.parse(readFileSync(blob(described), "utf8"));
  const layers = new Map<string, { folder: string; list: readonly (readonly [string, Listed])[] }>();
  const layer = (described: Described) => {
    const known = layers.get(described.digest);
    if (known !== undefined) return known;
    const to = join(folder.path, `layer-${layers.size}`);
    mkdirSync(to);
    execFileSync("tar", ["-xpf", blob(described), "-C", to]);
    const made = { folder: to, list: listOf(blob(described)) };
    layers.set(described.digest, made);
    return made;
  };
  const unpacked = Object.entries(built).map(([name, { digest }]) => {
    const { config, layers: described }: { config: Described; layers: Described[] } = parsed({ digest });
    const own = described.map(layer);
    const list = new Map(own.flatMap((one) => one.list));
    return [name, { runAs: parsed(config).config, layers: own.map((one) => one.folder), list }];
  });
  return { all: Object.fromEntries(unpacked), remove: folder.remove };
}

function listOf(archive: string): readonly (readonly [string, Listed])[] {
  const options = ["--numeric-owner", "--full-time", "--utc", "--quoting-style=literal"];
  const lines = execFileSync("tar", ["-tvf", archive, ...options], { encoding: "utf8", maxBuffer: 2 ** 28 });
  return [...lines.matchAll(/^(\S{10}) (\S+) +(\d+) (\S+ \S+) (.*?)\/?(?: -> .*)?$/gm)].map(
    ([, mode = "", owner = "", size = "", time = "", path = ""]) => [path, { mode, owner, size: Number(size), time }],
  );
}

/** The text of a file in an image. */
export function textIn({ layers }: Unpacked, path: string): string {
  const found = layers.toReversed().map((folder) => join(folder, path));
  for (const place of found) {
    try {
      return readFileSync(place, "utf8");
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
  throw new Error(`there is no ${path} in the image`);
}
