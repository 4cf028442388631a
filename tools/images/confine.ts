import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Process, type StartOptions, startProcess, temporaryFolder } from "../process/index.ts";
import { findOnPath } from "../programs/obtain/apt.ts";
import type { UnpackedImage } from "./archive/unpack.ts";
import { imageUser } from "./contents/workloads.ts";

/** The options of a container that matter for tests of an image. */
export interface Container extends Pick<StartOptions, "name" | "ready"> {
  /** Replaces the image's command. */
  readonly words?: readonly string[];
  /** Replaces the image's entrypoint. */
  readonly entrypoint?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files that are mounted into the container, read-only: text by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Writable paths, with the folder of this machine that is mounted there; null: an empty file system in memory. */
  readonly volumes?: Readonly<Record<string, string | null>>;
}

/** Mounts the layers as a read-only overlay and executes the command in it, in a separate mount namespace. */
const script = `
root="$1" layers="$2" volumes="$3"; shift 3
mount --make-rprivate /
mount -t overlay -o "ro,lowerdir=$layers" overlay "$root"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
echo "$volumes" | while read -r path from; do
  if [ -z "$path" ]; then continue; fi
  if [ -n "$from" ]; then mount --bind "$from" "$root$path"; else mount -t tmpfs -o mode=1777 tmpfs "$root$path"; fi
done
exec "$@"
`;

/**
 * Runs an image's command in its own root file system: read-only, as the image's user, without the environment of this
 * process. The command uses this machine's network, so that a suite can reach it. `remove` of the result deletes the
 * container's temporary files.
 *
 * @throws Error without root, which changing the root file system needs.
 */
export async function startContainer(
  image: UnpackedImage,
  container: Container,
): Promise<Process & { remove(): void }> {
  if (process.getuid?.() !== 0) throw new Error("only root can give a process another root file system; run as root");
  const chroot = findOnPath(["chroot"], `${process.env.PATH}:/usr/sbin:/sbin`);
  if (chroot === undefined) throw new Error("chroot is missing: it comes with coreutils");
  const {
    words = image.runAs.Cmd,
    entrypoint = image.runAs.Entrypoint,
    env = {},
    files = {},
    volumes = {},
  } = container;
  const folder = temporaryFolder("container");
  const [root, own] = [join(folder.path, "root"), join(folder.path, "own")];
  for (const path of [root, ...["dev", "proc", ...Object.keys(volumes)].map((name) => join(own, name))]) {
    mkdirSync(path, { recursive: true, mode: 0o755 });
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(own, path)), { recursive: true });
    writeFileSync(join(own, path), text);
  }
  const variables = [...image.runAs.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  const layers = [...image.layers, own].toReversed().join(":");
  const mounts = Object.entries(volumes).map(([path, from]) => `${path} ${from ?? ""}`);
  const inside = [chroot, `--userspec=${imageUser.id}:${imageUser.id}`, "--groups=", root, ...entrypoint, ...words];
  try {
    const started = await startProcess(
      "unshare",
      ["--mount", "sh", "-euc", script, "sh", root, layers, mounts.join("\n"), "env", "-i", ...variables, ...inside],
      { name: container.name, ready: container.ready },
    );
    return { ...started, remove: folder.remove };
  } catch (error) {
    folder.remove();
    throw error;
  }
}
