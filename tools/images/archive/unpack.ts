import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { oneAtATime } from "../../programs/obtain/one-at-a-time.ts";
import { type ImageName, runImages } from "../images.ts";
import type { RunAs } from "./oci.ts";

/** An unpacked image, as in a container runtime. */
export interface UnpackedImage {
  readonly runAs: RunAs;
  /** Folders with the files of the layers, the lowest first. Images that share a layer share its folder. */
  readonly layers: readonly string[];
  /** How tar lists each path, in the highest layer that contains it. */
  readonly list: ReadonlyMap<string, TarListEntry>;
}

/** A line of `tar -tv`. */
export interface TarListEntry {
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

/**
 * All images, unpacked from their archive by standard tools instead of our code. The files stay beside the archive in
 * the cache, where other suites and later runs find them, so they must not be changed.
 */
export async function unpackImages(): Promise<Readonly<Record<ImageName, UnpackedImage>>> {
  const { tar, images: built } = await runImages();
  const folder = join(dirname(tar), "unpacked");
  const digests = Object.values(built).map(({ digest }) => digest);
  if (!existsSync(folder)) {
    await oneAtATime(folder, async () => {
      if (!existsSync(folder)) unpack(tar, digests, folder);
    });
  }
  const unpacked = Object.entries(built).map(([name, image]) => {
    const { config, layers } = manifestOf(folder, image);
    const list = new Map(layers.flatMap((layer) => listIn(readFileSync(`${layerFolder(folder, layer)}.list`, "utf8"))));
    const { config: runAs }: { config: RunAs } = JSON.parse(readFileSync(blob(folder, config), "utf8"));
    return [name, { runAs, layers: layers.map((layer) => layerFolder(folder, layer)), list }];
  });
  return Object.fromEntries(unpacked);
}

const blob = (folder: string, { digest }: Described) => join(folder, "blobs", digest.replace(":", "/"));
const layerFolder = (folder: string, { digest }: Described) => join(folder, digest.replace(":", "-"));

const manifestOf = (folder: string, image: Described): { config: Described; layers: readonly Described[] } =>
  JSON.parse(readFileSync(blob(folder, image), "utf8"));

/** Unpacks the archive: its small files as they are; each layer as a folder, with the output of `tar -tv` beside it. */
function unpack(tar: string, digests: readonly string[], folder: string): void {
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial);
  execFileSync("tar", ["-xf", tar, "-C", partial]);
  const layers = digests.flatMap((digest) => manifestOf(partial, { digest }).layers);
  for (const layer of new Map(layers.map((one) => [one.digest, one])).values()) {
    const archive = blob(partial, layer);
    const to = layerFolder(partial, layer);
    mkdirSync(to);
    execFileSync("tar", ["-xpf", archive, "-C", to]);
    const options = ["--numeric-owner", "--full-time", "--utc", "--quoting-style=literal"];
    writeFileSync(`${to}.list`, execFileSync("tar", ["-tvf", archive, ...options], { maxBuffer: 2 ** 28 }));
    rmSync(archive);
  }
  renameSync(partial, folder);
}

function listIn(text: string): readonly (readonly [string, TarListEntry])[] {
  return [...text.matchAll(/^(\S{10}) (\S+) +(\d+) (\S+ \S+) (.*?)\/?(?: -> .*)?$/gm)].map(
    ([, mode = "", owner = "", size = "", time = "", path = ""]) => [path, { mode, owner, size: Number(size), time }],
  );
}

/** The text of a file in an image. */
export function fileTextIn({ layers }: UnpackedImage, path: string): string {
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
