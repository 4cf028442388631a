/** The kept report of the conformance suite of the Gateway API. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** The path of the report from the root: a ConformanceReport as the suite has written it. */
export const reportPath = "docs/reference/conformance/gateway-api-report.yaml";

/** The version in reports: that of the packages, and the tested commit, with `.changed` if files were changed since. */
export function testedVersion(): string {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };
  const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const changed = git("status", "--porcelain", "--", ".", ":!docs") === "" ? "" : ".changed";
  return `v${version}+${git("rev-parse", "--short=10", "HEAD")}${changed}`;
}

/** Replaces the kept report. */
export function keepConformanceReport(text: string): void {
  const path = join(root, reportPath);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
