/** Runs the conformance suite of the Gateway API in a cluster. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { supportedFeatures } from "@sluice/crds";
import type { Cluster } from "../cluster/pods/cluster.ts";
import { obtainTool } from "../programs/tool.ts";
import { testedProfiles } from "./features.ts";
import { echoImage } from "./installation.ts";

/** The file with the output of the last run. */
export const suiteLog = join(
  resolve(process.env.SLUICE_WORK || join(import.meta.dirname, "../../.sluice")),
  "conformance/gateway-api.log",
);

export type SuiteOutcome = "passed" | "failed" | "skipped";

export interface SuiteRun {
  /**
   * The GatewayClass of the suite's Gateways; the chart creates both.
   * Default: `sluice-shared`. With `sluice`, each Gateway has nodes of its own, and the suite starts over a hundred
   * pods.
   */
  readonly gatewayClass?: "sluice" | "sluice-shared";
  /** Names of the tests to run. Default: all tests of the supported features. */
  readonly only?: readonly string[];
  /** The version that the report names, such as a commit. */
  readonly version: string;
  /** Called with the output of the suite as it arrives. */
  readonly onOutput?: (piece: string) => void;
  /** Called with each test as it ends, in any order. */
  readonly onResult?: (name: string, outcome: SuiteOutcome) => void;
}

export interface SuiteResult {
  readonly tests: ReadonlyMap<string, SuiteOutcome>;
  /** The suite's report (ConformanceReport) as YAML; null: the suite has not written one. */
  readonly report: string | null;
  /** The exit code of the suite; not 0 if a test has failed or the suite could not run. */
  readonly code: number | null;
}

/** A line about a test that has ended. */
const resultLine = /^result: (\w+) (passed|failed|skipped)$/;

/**
 * Runs the suite inside the cluster, where the addresses of Services are reachable. Resolves whatever the outcome is.
 */
export async function runSuite(cluster: Cluster, options: SuiteRun): Promise<SuiteResult> {
  const { gatewayClass = "sluice-shared", only, version, onResult } = options;
  const place = join(cluster.folder, "gateway-api-report.yaml");
  const tests = new Map<string, SuiteOutcome>();
  mkdirSync(dirname(suiteLog), { recursive: true });
  const file = openSync(suiteLog, "w");
  let rest = "";
  const onOutput = (piece: string) => {
    writeSync(file, piece);
    options.onOutput?.(piece);
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, name, outcome] = resultLine.exec(line) ?? [];
      if (name === undefined) continue;
      tests.set(name, outcome as SuiteOutcome);
      onResult?.(name, outcome as SuiteOutcome);
    }
  };
  const suite = await cluster.start(
    await obtainTool("gateway-api-suite"),
    [
      `-gateway-class=${gatewayClass}`,
      `-conformance-profiles=${testedProfiles.join(",")}`,
      `-supported-features=${supportedFeatures.join(",")}`,
      `-echo-image=${echoImage}`,
      // The cluster ends with the run.
      "-cleanup-base-resources=false",
      "-organization=sluice",
      "-project=sluice",
      "-url=https://sluice.dev",
      "-contact=SECURITY.md",
      `-version=${version}`,
      `-report-output=${place}`,
      ...(only ? [`-run-test=${only.join(",")}`] : []),
      "-test.v",
      "-test.timeout=120m",
    ],
    { name: "the conformance suite", onOutput },
  );
  const { code } = await suite.ended();
  closeSync(file);
  return { tests, report: existsSync(place) ? readFileSync(place, "utf8") : null, code };
}
