/** Options that several commands have. */
import type { OptionDefinition } from "@sluice/model/command-line";

/** Options for the connection to the admin API, besides the settings. Their names are those of curl and kubectl. */
export const connectionOptions: Readonly<Record<string, OptionDefinition>> = {
  cacert: { value: "FILE", description: "PEM file of the CAs that may issue the certificate of the admin API." },
  cert: { value: "FILE", description: "PEM file of a client certificate (mutual TLS)." },
  key: { value: "FILE", description: "PEM file of the private key of --cert." },
  context: { value: "NAME", description: "Reach the admin API in the cluster of this context of the kubeconfig." },
  kubeconfig: {
    value: "FILE",
    description: "Reach the admin API in the cluster of this kubeconfig (default: KUBECONFIG).",
  },
  namespace: { short: "n", value: "NAME", description: "Reach the admin API in this namespace of the cluster." },
  insecure: { short: "k", description: "Do not verify the certificate of the admin API." },
};

/** The first format is the default; json is one of them. */
export const outputOptions = (
  ...choices: readonly [string, ...string[]]
): Readonly<Record<string, OptionDefinition>> => ({
  output: { short: "o", value: "FORMAT", choices, default: choices[0], description: "Format of the output." },
  json: { shortFor: ["output", "json"], description: "Short for `-o json`." },
});

/** The options of a command that prints data of the admin API. */
export const clientOptions = (
  ...choices: Parameters<typeof outputOptions>
): Readonly<Record<string, OptionDefinition>> => ({
  ...outputOptions(...choices),
  ...connectionOptions,
});
