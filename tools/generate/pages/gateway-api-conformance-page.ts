/** Generates the page of the last report of the Gateway API's conformance suite. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { supportedFeatures } from "@sluice/crds";
import { parse } from "yaml";
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";
import { unsupportedFeatures, unsupportedProfiles } from "../../gateway-api/features.ts";
import { reportPath } from "../../gateway-api/report.ts";

/** Results of the tests of a profile, as in ConformanceReport. */
interface Tested {
  readonly result: string;
  readonly statistics: Readonly<Record<"Failed" | "Passed" | "Skipped", number>>;
  readonly failedTests?: readonly string[];
}

interface Report {
  readonly date: string;
  readonly gatewayAPIChannel: string;
  readonly gatewayAPIVersion: string;
  readonly implementation: { readonly version: string };
  readonly profiles: readonly { readonly name: string; readonly core: Tested; readonly extended?: Tested }[];
}

export function gatewayApiConformancePage(): GeneratedFile {
  const report: Report = parse(readFileSync(join(import.meta.dirname, "../../..", reportPath), "utf8"));
  const profiles = report.profiles.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const failed = profiles.flatMap(({ core, extended }) => [
    ...(core.failedTests ?? []),
    ...(extended?.failedTests ?? []),
  ]);
  const counts = ({ statistics }: Tested) => `${statistics.Passed} passed, ${statistics.Failed} failed`;
  const content = [
    `# Conformance to the Gateway API

\`npm run test:conformance\` runs the [conformance suite of the Gateway API](https://gateway-api.sigs.k8s.io/concepts/conformance/) against the chart on a [cluster with pods](../../how-to/run-a-cluster-with-pods.md), and keeps the suite's [report](${basename(reportPath)}). The Services of Gateways have the type \`ClusterIP\`, because that cluster has no load balancers; the suite runs in the network of the Kubernetes node. The Gateways of the suite have the class \`sluice-shared\`, and share the nodes of the release; the suite also passes with the class \`sluice\` ([decision 51](../../decisions/0051-a-gateway-may-have-nodes-of-its-own.md)). The images of the suite's echo servers are built from the sources of the same release.

- Gateway API: ${report.gatewayAPIVersion}, channel ${report.gatewayAPIChannel}
- Sluice: ${report.implementation.version}
- Date: ${report.date.slice(0, 10)}`,
    table(
      ["profile", "core tests", "tests of extended features"],
      profiles.map(({ name, core, extended }) => [name, counts(core), extended ? counts(extended) : "none"]),
    ),
    ...(failed.length === 0
      ? []
      : [
          `## Failed tests\n\n${[...new Set(failed)]
            .toSorted()
            .map((name) => `- ${name}`)
            .join("\n")}`,
        ]),
    `## Supported features\n\n${supportedFeatures.map((name) => `\`${name}\``).join(", ")}`,
    "## Not supported",
    reasons("profile", unsupportedProfiles),
    reasons("extended feature", unsupportedFeatures),
  ].join("\n\n");
  return generatedPage(join(dirname(reportPath), "gateway-api.md"), content, basename(reportPath));
}

const reasons = (head: string, all: Readonly<Record<string, string>>): string =>
  table(
    [head, "reason"],
    Object.entries(all).map(([name, reason]) => [`\`${name}\``, reason]),
  );

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
