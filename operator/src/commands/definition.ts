/** The commands of `sluice-operator`. This module loads no code of a command. */
import type { CommandDefinition, LoadedCommand } from "@sluice/model/command-line";
import type { CrdsVerb } from "./crds.ts";

export interface OperatorCommand extends LoadedCommand {
  /** @param flags Values of settings by their flags. */
  run(flags: Readonly<Record<string, string>>): Promise<void>;
}

const crdsCommandOf = (verb: CrdsVerb) => async (): Promise<OperatorCommand> => {
  const [{ crdsCommand }, { createClusterObjects }] = await Promise.all([import("./crds.ts"), import("@sluice/crds")]);
  return {
    settings: {},
    async run() {
      process.exitCode = await crdsCommand(verb, {
        connect: createClusterObjects,
        print: (line) => console.log(line),
        warn: (line) => console.error(line),
      }).catch((error: Error) => {
        console.error(`sluice-operator: ${error.message}`);
        return 1;
      });
    },
  };
};

export const operatorProgram: CommandDefinition<OperatorCommand> = {
  name: "sluice-operator",
  summary: "translates custom resources into a document and pushes it to every node",
  description: "Without a command the operator starts. It stops at the first SIGTERM or SIGINT.",
  examples: [
    { line: "sluice-operator", effect: "with the cluster of KUBECONFIG or of the pod's service account" },
    { line: "sluice-operator --directory ./resources", effect: "with a folder of custom resources" },
  ],
  subcommands: [
    {
      name: "crds",
      summary: "installs, upgrades or prints the custom resource definitions",
      examples: [{ line: "sluice-operator crds apply", effect: "installs them in the cluster of KUBECONFIG" }],
      subcommands: [
        {
          name: "apply",
          summary: "creates or upgrades the custom resource definitions, and waits until the API server serves them",
          exitCodes: {
            3: "stored resources would lose data; nothing was changed",
            4: "Helm or Pulumi manages the definitions",
          },
          examples: [{ line: "sluice-operator crds apply", effect: "before an upgrade of the operator" }],
          load: crdsCommandOf("apply"),
        },
        {
          name: "print",
          summary: "writes the definitions as YAML",
          examples: [
            {
              line: "sluice-operator crds print | kubectl diff --server-side -f -",
              effect: "shows what apply would change",
            },
          ],
          load: crdsCommandOf("print"),
        },
      ],
    },
    {
      name: "version",
      summary: "prints the version",
      examples: [{ line: "sluice-operator version", effect: "the version, as `sluice-operator --version` prints it" }],
      async load() {
        const { default: manifest } = await import("../../package.json", { with: { type: "json" } });
        return { settings: {}, run: async () => console.log(manifest.version) };
      },
    },
  ],
  async load() {
    const [{ runOperator }, { operatorSettings }] = await Promise.all([
      import("../serve.ts"),
      import("../settings.ts"),
    ]);
    return { settings: operatorSettings, run: runOperator };
  },
};
