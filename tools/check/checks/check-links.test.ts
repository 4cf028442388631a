import assert from "node:assert/strict";
import { test } from "node:test";
import { faultText } from "../fault.ts";
import { checkLinks } from "./check-links.ts";

const suite = {
  path: "gateway/src/a.test.ts",
  text: 'test("a key opens a route", () => {});\ntest("a key is refused");',
};
const guide = {
  path: "docs/how-to/guide.md",
  text: "# Guide\n\n## Two `Sluices`, one cluster\n\n```\n# no heading\n```\n",
};
const picture = "docs/picture.png";

const faultsOf = (text: string) =>
  checkLinks([{ path: "docs/page.md", text }, suite, guide], ["docs/page.md", suite.path, guide.path, picture]).map(
    faultText,
  );

const taken: readonly string[] = [
  "[a page](how-to/guide.md), [a picture](picture.png), [a folder](how-to), [another](../gateway/src/)",
  "[a heading](how-to/guide.md#two-sluices-one-cluster)",
  "# Here\n\n[below](#here)",
  "[elsewhere](https://sluice.example/page), [mail](mailto:a@sluice.example)",
  '[suite](../gateway/src/a.test.ts): "a key opens a route", "is refused"',
  "```md\n[in code](nowhere.md)\n```",
];
for (const text of taken)
  test(`the link check accepts ${JSON.stringify(text)}`, () => assert.deepEqual(faultsOf(text), []));

const refused: readonly [text: string, fault: string][] = [
  ["a\n[page](how-to/guid.md)", "docs/page.md:2: links to docs/how-to/guid.md, which does not exist"],
  ["[page](/docs/page.md)", "docs/page.md:1: links to docs/docs/page.md, which does not exist"],
  ["[page](https.md)", "docs/page.md:1: links to docs/https.md, which does not exist"],
  [
    "[page](how-to/guide.md#no-heading)",
    "docs/page.md:1: links to the heading #no-heading, which docs/how-to/guide.md does not have",
  ],
  ["[below](#here)", "docs/page.md:1: links to the heading #here, which docs/page.md does not have"],
  [
    '[suite](../gateway/src/a.test.ts): "a key opens a route", "a key opens a door"',
    'docs/page.md:1: quotes "a key opens a door" from gateway/src/a.test.ts, which does not contain it',
  ],
];
for (const [text, fault] of refused)
  test(`the link check refuses ${JSON.stringify(text)}`, () => assert.deepEqual(faultsOf(text), [fault]));
