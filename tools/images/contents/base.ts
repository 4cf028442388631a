import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { copiedFile, fileNode, folderNode, type TreeEntry } from "../archive/tree.ts";
import { imagePlaces } from "../command.ts";
import { librariesOf, packagesOf, type SystemPackage } from "./libraries.ts";
import { type LockedPackage, lockedAt, lockRoot } from "./lock.ts";
import { imageDataFolder, imageUser } from "./workloads.ts";

/** The base layer of a root file system. */
export interface BaseLayer {
  readonly entries: readonly TreeEntry[];
  /** The packages of this machine's distribution that the layer's files come from. */
  readonly packages: readonly SystemPackage[];
  /** The npm packages that the layer's files come from. */
  readonly npm: readonly LockedPackage[];
}

/**
 * The Node of the lockfile, with its shared libraries and the files that the C library reads. Node brings its own
 * certificates.
 */
export function nodeBase(): BaseLayer {
  const path = `node_modules/node-${process.platform}-${process.arch}`;
  const node = join(lockRoot, path, "bin/node");
  if (!existsSync(node)) throw new Error(`Node is missing: npm has not installed ${path}; run npm ci`);
  const base = programBase([node]);
  return {
    ...base,
    entries: [
      ...base.entries,
      copiedFile(imagePlaces.node, node, 0o755),
      copiedFile("usr/share/doc/node/copyright", join(lockRoot, path, "LICENSE")),
    ],
    npm: [lockedAt(path)],
  };
}

/**
 * The files that programs of this machine need: shared libraries at the loader's paths, a non-root user, and
 * world-writable folders. The programs themselves are not included.
 *
 * @param within A folder that is copied into the image with the programs; libraries in it are not added again.
 */
export function programBase(programs: readonly string[], within?: string): BaseLayer {
  const libraries = librariesOf(programs, within);
  const packages = packagesOf(libraries);
  const { id, name } = imageUser;
  return {
    entries: [
      ...libraries.map((path) => copiedFile(path.slice(1), path, 0o755)),
      ...packages.filter(({ copyright }) => existsSync(copyright)).map(termsOf),
      fileNode("etc/passwd", `root:x:0:0::/:/nonexistent\n${name}:x:${id}:${id}::${imageDataFolder}:/nonexistent\n`),
      fileNode("etc/group", `root:x:0:\n${name}:x:${id}:\n`),
      fileNode("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
      folderNode("tmp", 0o1777),
      folderNode(imageDataFolder.slice(1), 0o1777),
    ],
    packages,
    npm: [],
  };
}

const termsOf = ({ copyright }: SystemPackage): TreeEntry => fileNode(copyright.slice(1), readFileSync(copyright));
