/** Checks the table of Kong's plugins against the plugins that Sluice has, and against the page about compatibility. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { insteadOfPlugin, kongPlugins, pluginNamed, pluginNames } from "@sluice/model";
import { repositoryRoot } from "../check/source-files.ts";

const page = readFileSync(join(repositoryRoot, "docs/reference/kong-compatibility.md"), "utf8");
const [, section = ""] = page.split("\n### Bundled plugins\n");
const rows = [
  ...(section.split("\n### ")[0] ?? "").matchAll(
    /^\| (?:\[([a-z0-9-]+)\]\([^)]*\)|`([a-z0-9-]+)`) \| (\w+) \| (.*) \|$/gm,
  ),
];

test("the page lists the forty-five plugins of Kong's free edition with their states", () => {
  const free = [...kongPlugins].filter(([, { paid }]) => !paid);
  assert.equal(free.length, 45);
  const expected = free.map(([name, { differs, instead }]) => {
    if (pluginNamed(name) === undefined) return [name, "absent", instead];
    return [name, differs === undefined ? "equal" : "different", differs ?? ""];
  });
  const listed = rows.map(([, linked, plain, state, text]) => [linked ?? plain, state, text]);
  assert.deepEqual(listed, expected);
});

test("every plugin that comes with Sluice is one of Kong's or has a section of its own", () => {
  const unlisted = pluginNames().filter((name) => !kongPlugins.has(name) && !page.includes(`\n### ${name}\n`));
  assert.deepEqual(unlisted, []);
});

test("there is advice for exactly the plugins of Kong that Sluice lacks", () => {
  for (const [name, { instead, differs }] of kongPlugins) {
    const isThere = pluginNamed(name) !== undefined;
    assert.equal(insteadOfPlugin(name) === undefined, isThere, name);
    assert.equal(instead === undefined, isThere, `${name}: remove its 'instead', and say what differs`);
    if (!isThere) assert.equal(differs, undefined, name);
  }
});

test("advice names only plugins that Sluice has, and pages that exist", () => {
  for (const [name, { instead = "" }] of kongPlugins) {
    for (const [, plugin = ""] of instead.matchAll(/\buse ([a-z]+(?:-[a-z]+)+)/g))
      assert.ok(pluginNamed(plugin), `${name}: ${plugin}`);
    for (const [file] of instead.matchAll(/docs\/[\w./-]+\.md/g))
      assert.ok(readFileSync(join(repositoryRoot, file)), file);
  }
});
