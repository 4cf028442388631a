/** Images with plugins of users, for clusters that cannot pull images. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../process/index.ts";
import { type Image, imageLayer, ociImage } from "../archive/oci.ts";
import { copiedFile, type TreeEntry } from "../archive/tree.ts";
import { programBase } from "./base.ts";
import { imageUser } from "./workloads.ts";

/**
 * The image that the Dockerfile of docs/how-to/run-plugins-in-kubernetes.md builds from an npm package, with this
 * machine's `cp` instead of busybox. Its name is a reference with a digest, as the chart's value `plugins.images`
 * demands.
 *
 * @param repository With the registry: docker.io/acme/sluice-plugin-x.
 * @param archive Path of the archive that `npm pack` wrote.
 */
export function pluginImage(repository: string, archive: string): Image {
  const copier = [...programBase(["/bin/cp"]).entries, copiedFile("bin/cp", "/bin/cp", 0o755)];
  const built = ociImage(repository, {
    layers: [imageLayer("cp and its libraries", copier), imageLayer("the package", filesOf(archive))],
    runAs: {
      User: `${imageUser.id}:${imageUser.id}`,
      Env: ["PATH=/bin"],
      Entrypoint: [],
      Cmd: [],
      WorkingDir: "/",
      Labels: {},
    },
  });
  return { ...built, name: `${repository}@${built.digest}` };
}

/** The files of an archive, whose top folder is `package`. */
function filesOf(archive: string): readonly TreeEntry[] {
  const folder = temporaryFolder("plugin-image");
  try {
    execFileSync("tar", ["-xzf", archive, "-C", folder.path]);
    return readdirSync(folder.path, { recursive: true, withFileTypes: true, encoding: "utf8" })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => copiedFile(path.slice(folder.path.length + 1), path));
  } finally {
    folder.remove();
  }
}
