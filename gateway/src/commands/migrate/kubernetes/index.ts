/** `sluice migrate kubernetes`: converts the objects of Kong's ingress controller to resources of Sluice. */
import { migrateSettings } from "../../../settings/commands/config.ts";
import { registerConfiguredPlugins } from "../../../settings/plugins.ts";
import { defineCommand, UsageError } from "../../command.ts";
import { writeFolder } from "../../config/resource-folder.ts";
import { NOT_ALL_SERVED } from "../index.ts";
import { migrateObjects } from "./migration.ts";
import { readClusterObjects } from "./read-cluster.ts";
import { readObjectFiles } from "./read-files.ts";
import { fileOfResource } from "./to-resources.ts";

const DEFAULT_INGRESS_CLASS = "kong";

export const migrateKubernetesCommand = defineCommand({
  settings: migrateSettings,
  ends: true,
  async run({ given: { options }, settings, print, progress }) {
    const { filename, cluster, write, "ingress-class": ingressClass = DEFAULT_INGRESS_CLASS } = options;
    const { context, kubeconfig } = options;
    if ((filename === undefined) !== (cluster === true)) throw new UsageError("give -f PATH or --cluster");
    if (cluster !== true && (context ?? kubeconfig) !== undefined)
      throw new UsageError("--context and --kubeconfig need --cluster");
    if (write === "") throw new UsageError("--write must name a folder");
    await registerConfiguredPlugins(settings, "schema");
    const read =
      typeof filename === "string"
        ? await readObjectFiles(filename)
        : await readClusterObjects(
            {
              ...(typeof kubeconfig === "string" && { kubeconfig }),
              ...(typeof context === "string" && { context }),
            },
            progress,
          );
    const { report, resources } = migrateObjects(typeof filename === "string" ? filename : "the cluster", read, {
      ingressClass: String(ingressClass),
      class: settings.class,
      homeNamespace: settings.homeNamespace,
    });
    print(report.text);
    if (typeof write === "string") {
      print("\n");
      await writeFolder(resources, { folder: write, print, progress, fileOf: fileOfResource });
    }
    return report.isComplete ? 0 : NOT_ALL_SERVED;
  },
});
