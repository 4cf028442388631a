import assert from "node:assert/strict";
import { test } from "node:test";
import { foldersIn, linkedSources, navigationOf, siteFileOf, siteLink } from "./site-pages.ts";

const paths = ["README.md", "docs/README.md", "docs/how-to/guide.md", "gateway/src/a.ts", "gateway/src/b/c.ts"];
const folders = foldersIn(paths);

const links: readonly [page: string, target: string, expected: string][] = [
  ["docs/how-to/guide.md", "../README.md", "/docs/index.md"],
  ["docs/how-to/guide.md", "../../README.md#start", "/index.md#start"],
  ["docs/README.md", "how-to/guide.md#one-two", "/docs/how-to/guide.md#one-two"],
  ["docs/README.md", "../gateway/src/a.ts", "/source/gateway/src/a.ts.txt"],
  ["docs/README.md", "../gateway/src/", "/source/gateway/src/index.html"],
  ["docs/README.md", "../.github/issue.md", "/source/.github/issue.md.txt"],
  ["docs/README.md", "#below", "#below"],
  ["docs/README.md", "https://sluice.example/page.md", "https://sluice.example/page.md"],
];
for (const [page, target, expected] of links)
  test(`on the site, the link ${target} of ${page} leads to ${expected}`, () =>
    assert.equal(siteLink(page, target, folders), expected));

test("a README is the start page of its folder, and every other page keeps its path", () => {
  assert.deepEqual(paths.slice(0, 3).map(siteFileOf), ["index.md", "docs/index.md", "docs/how-to/guide.md"]);
});

test("linked source files and the files of linked folders are published as text, with a list for each folder", () => {
  const page = "[a](../gateway/src/a.ts), [b](../gateway/src/b), [page](how-to/guide.md)";
  const files = paths.map((path) => ({ path, text: path === "docs/README.md" ? page : `text of ${path}` }));
  const published = linkedSources(files);
  assert.deepEqual(
    [...published.keys()],
    ["source/gateway/src/a.ts.txt", "source/gateway/src/b/c.ts.txt", "source/gateway/src/b/index.html"],
  );
  assert.equal(published.get("source/gateway/src/a.ts.txt"), "text of gateway/src/a.ts");
  assert.match(published.get("source/gateway/src/b/index.html") ?? "", /<a href="c\.ts\.txt">c\.ts<\/a>/);
});

test("the navigation has the sections of the index with the pages of their tables", () => {
  const index =
    "# Docs\n\n## Guides\n\n| page | task |\n|---|---|\n| [A `guide`](how-to/guide.md) | x |\n\n## Project\n\nText.\n";
  assert.deepEqual(navigationOf(index, folders), [
    { text: "Guides", items: [{ text: "A guide", link: "/docs/how-to/guide.md" }] },
  ]);
});
