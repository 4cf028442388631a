/** Custom plugins in the pods of operator, nodes and admin API, equal to the chart's (templates/_pods.tpl). */
import type { Release, Workload } from "./names.ts";
import { containerOf } from "./pods.ts";

/** What plugins add to a pod; all lists are empty without plugins. */
interface PluginParts {
  readonly env: readonly object[];
  /** Containers that copy the packages, unless image volumes contain them. */
  readonly initContainers: readonly object[];
  readonly mounts: readonly object[];
  readonly volumes: readonly object[];
}

/**
 * Each image of a plugin becomes a volume that has the plugin's package in its folder `package`: an image volume, or an
 * emptyDir into which an init container that runs the image copies the package.
 *
 * @param resources The compute resources of the part, which the init containers may use too.
 */
export function pluginsOf(release: Release, resources: Workload["resources"]): PluginParts {
  const { plugins, image } = release.values;
  const all = plugins.images.map((reference, index) => {
    const mount = { name: `plugin-${index}`, mountPath: `/plugins/${index}` };
    return { reference, mount };
  });
  if (all.length === 0) return { env: [], initContainers: [], mounts: [], volumes: [] };
  return {
    env: [{ name: "SLUICE_PLUGINS", value: all.map(({ mount }) => `${mount.mountPath}/package`).join(",") }],
    initContainers: plugins.imageVolumes
      ? []
      : all.map(({ reference, mount }) => ({
          name: mount.name,
          ...containerOf(release, reference),
          // A container that is started again copies over the files of its predecessor.
          command: ["cp", "-R", "-f", "/package", mount.mountPath],
          resources,
          volumeMounts: [mount],
        })),
    mounts: all.map(({ mount }) => ({ ...mount, readOnly: true })),
    volumes: all.map(({ reference, mount: { name } }) =>
      plugins.imageVolumes ? { name, image: { reference, pullPolicy: image.pullPolicy } } : { name, emptyDir: {} },
    ),
  };
}
