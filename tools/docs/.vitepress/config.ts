/** The documentation site: every page of the repository under its path, with links that work without a network. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { headingAnchor } from "../../check/checks/check-links.ts";
import { repositoryRoot, sourceFiles } from "../../check/source-files.ts";
import { foldersIn, linkedSources, navigationOf, siteFileOf, siteLink } from "../site-pages.ts";

const files = sourceFiles();
const folders = foldersIn(files.map(({ path }) => path));
const index = files.find(({ path }) => path === "docs/README.md")?.text ?? "";

// Vite serves this folder as it is, and copies it into the build.
const publicDir = join(repositoryRoot, "tools/docs/.vitepress/public");
rmSync(publicDir, { recursive: true, force: true });
for (const [path, text] of linkedSources(files)) {
  mkdirSync(dirname(join(publicDir, path)), { recursive: true });
  writeFileSync(join(publicDir, path), text);
}

/** A list of records, by number, for the navigation; docs/README.md links to their folder only. */
const decisions = files.flatMap(({ path, text }) => {
  if (!path.startsWith("docs/decisions/0")) return [];
  return [{ text: (text.split("\n", 1)[0] ?? "").replace(/^# /, ""), link: siteLink("README.md", path, folders) }];
});
const groups = [...navigationOf(index, folders), { text: "Decisions", items: decisions }];
const firstLinkOf = (name: string) => groups.find(({ text }) => text === name)?.items[0]?.link ?? "/docs/index.md";

/** Vite would not find Vue for the pages, because Vue is installed in a folder that is not above the pages. */
const vueOfThisPackage = {
  name: "vue-of-this-package",
  enforce: "pre",
  resolveId(this: Resolver, id: string, importer: string | undefined, options: object) {
    if (!/^vue(\/|$)/.test(id) || importer?.includes("/node_modules/")) return null;
    return this.resolve(id, join(repositoryRoot, "tools/docs/main.ts"), { ...options, skipSelf: true });
  },
};

export default {
  title: "Sluice",
  description: "An API gateway with a Kubernetes operator",
  lang: "en",
  // GitHub publishes the pages of a repository below its name.
  base: process.env.DOCS_BASE ?? "/",
  // Otherwise browsers ask for /favicon.ico.
  head: [["link", { rel: "icon", href: "data:," }]],
  srcDir: "../..",
  srcExclude: ["**/node_modules/**"],
  rewrites: siteFileOf,
  outDir: "../../tools/docs/dist",
  markdown: {
    // GitHub shows attributes in braces as text, so the site must not interpret them.
    attrs: { disable: true },
    anchor: { slugify: headingAnchor },
    config(md: MarkdownRenderer) {
      md.core.ruler.push("site-links", ({ tokens, env }) => {
        const page = env.realPath ?? env.path ?? "";
        for (const token of tokens.flatMap(({ children }) => children ?? []))
          for (const pair of token.attrs ?? [])
            if (pair[0] === "href") pair[1] = siteLink(relative(repositoryRoot, page), decodeURI(pair[1]), folders);
      });
      // Vue would evaluate double braces; GitHub shows them.
      const render = md.render.bind(md);
      md.render = (...args) => render(...args).replaceAll("{{", "&#123;&#123;");
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (...args) => {
        const token = args[0][args[1]];
        if (token?.info.trim() !== "mermaid") return fence?.(...args) ?? "";
        return `<MermaidDiagram source="${encodeURIComponent(token.content)}" />\n`;
      };
    },
  },
  vite: { publicDir, plugins: [vueOfThisPackage] },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        // Leaves out tables of results and licences, which would rank above the pages that explain them.
        _render: (text: string, env: { relativePath: string }, md: MarkdownRenderer) =>
          /^(test\/|THIRD_PARTY)/.test(env.relativePath) ? "" : md.render(text, env),
      },
    },
    outline: [2, 3],
    nav: [
      { text: "Tutorials", link: firstLinkOf("Tutorials") },
      { text: "How-to guides", link: firstLinkOf("How-to guides") },
      { text: "Reference", link: firstLinkOf("Reference") },
      { text: "Explanation", link: firstLinkOf("Explanation") },
      { text: "Decisions", link: firstLinkOf("Decisions") },
    ],
    sidebar: groups.map((group) => ({ ...group, collapsed: group.text !== "Tutorials" })),
  },
};

interface Resolver {
  resolve(id: string, importer: string, options: object): Promise<unknown>;
}

interface Token {
  readonly info: string;
  readonly content: string;
  readonly attrs: [string, string][] | null;
  readonly children: readonly Token[] | null;
}

interface MarkdownRenderer {
  render(text: string, env: object): string;
  readonly core: {
    readonly ruler: {
      push(name: string, rule: (state: { tokens: Token[]; env: Record<string, string> }) => void): void;
    };
  };
  readonly renderer: { readonly rules: { fence?: (...args: [Token[], number, ...unknown[]]) => string } };
}
