/**
 * Generates the table of Kong's bundled plugins on the page about compatibility. The rest of the page is written by
 * hand.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { kongPlugins, pluginNamed } from "@sluice/model";
import type { GeneratedFile } from "../../crds/model/src/generate/files.ts";
import { headingsOf } from "../check/checks/check-links.ts";
import { repositoryRoot } from "../check/source-files.ts";

const path = "docs/reference/kong-compatibility.md";
const region = /(<!-- The table is generated [^>]*-->\n)[\s\S]*?(<!-- End of the generated table. -->)/;

const pageText = () => readFileSync(join(repositoryRoot, path), "utf8");

/** Whether the page has a section with this name. */
export const hasCompatibilitySection = (plugin: string): boolean => headingsOf(pageText()).has(plugin);

export function kongPluginsTable(): GeneratedFile {
  const page = pageText();
  const headings = headingsOf(page);
  const linked = (name: string) => (headings.has(name) ? `[${name}](#${name})` : `\`${name}\``);
  const rows = [...kongPlugins].flatMap(([name, { paid, differs, instead }]) => {
    if (paid) return [];
    if (pluginNamed(name) === undefined) return [`| \`${name}\` | absent | ${instead ?? ""} |`];
    return [`| ${linked(name)} | ${differs === undefined ? "equal" : "different"} | ${differs ?? ""} |`];
  });
  const table = ["| plugin | state | difference, or what to do instead |", "|---|---|---|", ...rows].join("\n");
  if (!region.test(page)) throw new Error(`${path} has no place for the table of Kong's plugins`);
  return { path, content: page.replace(region, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`) };
}
