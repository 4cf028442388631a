import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { fileTextIn, type UnpackedImage, unpackImages } from "../../tools/images/archive/unpack.ts";
import { makeImageKit, workloadImage } from "../../tools/images/build.ts";
import { sbomPlace } from "../../tools/images/contents/sbom.ts";
import { workloads } from "../../tools/images/contents/workloads.ts";
import type { ImageName } from "../../tools/images/images.ts";

let all: Readonly<Record<ImageName, UnpackedImage>>;
before(async () => {
  all = await unpackImages();
});

const lock: Readonly<Record<string, { readonly dev?: true; readonly license?: string }>> = JSON.parse(
  readFileSync(join(repositoryRoot, "package-lock.json"), "utf8"),
).packages;

/** The npm packages in an image, as their paths in the lockfile. */
const packagesIn = ({ list }: UnpackedImage): readonly string[] =>
  [...list.keys()]
    .map((path) => path.match(/^sluice\/(.*node_modules\/(?:@[^/]+\/)?[^/@]+)\/package\.json$/)?.[1])
    .filter((path) => path !== undefined)
    .toSorted();

/** Programs and files that must not be in an image, with patterns for their paths. */
const unwanted: readonly [what: string, path: RegExp][] = [
  ["a shell", /(^|\/)(ba|da|a|z|fi)?sh$|(^|\/)busybox$/],
  ["a package manager", /(^|\/)(npm|npx|corepack|yarn|apt|apt-get|dpkg)$/],
  ["a test", /\.(test|spec)\.[a-z]+$|(^|\/)testing(-[^/]*)?\.[jt]s$|(^|\/)plugin-harness\/|^sluice\/test(\/|$)/],
  ["TypeScript", /\.[cm]?ts$/],
  ["a source map", /\.map$/],
  ["a key or a password", /(^|\/)(\.env|\.npmrc|id_[a-z0-9]+|shadow)$/],
];

for (const { name, workspace, title, console: hasConsole, standalone } of Object.values(workloads)) {
  const command = standalone ? `usr/local/bin/${standalone.command}` : undefined;

  test(`the unpacked ${name} is smaller than 200 MB`, (context) => {
    const size = [...all[name].list.values()].reduce((total, listed) => total + listed.size, 0);
    context.diagnostic(`${name}: ${(size / 1e6).toFixed(1)} MB unpacked`);
    assert.ok(size < 200e6, `${size} bytes`);
  });

  for (const [what, pattern] of unwanted) {
    test(`${name} does not contain ${what}`, () => {
      assert.deepEqual(
        [...all[name].list.keys()].filter((path) => pattern.test(path)),
        [],
      );
    });
  }

  test(`${name} has only the expected top-level folders, and no program in /usr except Node${command ? ` and /${command}` : ""}`, () => {
    const top = new Set([...all[name].list.keys()].map((path) => path.split("/")[0]));
    assert.deepEqual([...top].toSorted(), ["etc", "lib", "lib64", "sluice", "tmp", "usr", "var"]);
    const run = [...all[name].list].filter(([path, { mode }]) => /^-.*x/.test(mode) && /^usr\//.test(path));
    assert.deepEqual(
      run.map(([path]) => path),
      ["usr/local/bin/node", ...(command ? [command] : [])],
    );
  });

  test(`${name} has the same owner and time for all files, and only root can write to them, except to /tmp and /var/lib/sluice`, () => {
    const open = ["tmp", "var/lib/sluice"];
    for (const [path, { mode, owner, time }] of all[name].list) {
      assert.deepEqual({ path, owner, time }, { path, owner: "0/0", time: "1970-01-01 00:00:00" });
      const expected = open.includes(path) ? /^drwxrwxrwt$/ : /^(lrwxrwxrwx|[-d]rw[-x]r-[-x]r-[-x])$/;
      assert.match(mode, expected, path);
    }
  });

  test(`${name} has production dependencies only`, () => {
    const packages = packagesIn(all[name]);
    assert.ok(packages.length > 50);
    assert.deepEqual(
      packages.filter((path) => lock[path] === undefined || lock[path].dev),
      [],
    );
  });

  test(`the SBOM of ${name} lists exactly the packages and libraries that the image contains`, () => {
    const { components }: { components: Component[] } = JSON.parse(fileTextIn(all[name], sbomPlace));
    const npm = components.filter(({ purl }) => purl.startsWith("pkg:npm/"));
    const installed = npm.filter((one) => one["bom-ref"].includes("node_modules/"));
    const node = `node_modules/node-${process.platform}-${process.arch}`;
    const expected = [...packagesIn(all[name]), node, ...(hasConsole ? ["node_modules/preact"] : [])];
    assert.deepEqual(installed.map((one) => one["bom-ref"]).toSorted(), expected.toSorted());
    for (const one of installed) {
      assert.match(one.hashes?.[0]?.content ?? "", /^[0-9a-f]{128}$/, one.name);
      assert.equal(one.licenses?.[0]?.expression, lock[one["bom-ref"]]?.license);
    }
    const ours = [...all[name].list.keys()].filter((path) => /^sluice\/[^/]+(\/[^/]+)?\/package\.json$/.test(path));
    const workspaces = npm
      .filter((one) => !installed.includes(one))
      .map((one) => `sluice/${one["bom-ref"]}/package.json`);
    assert.deepEqual(workspaces.toSorted(), ours.filter((path) => !path.includes("node_modules")).toSorted());
    const libraries = [...all[name].list.keys()].filter((path) => /^lib.*\.so/.test(path)).map((path) => `/${path}`);
    const files = components.flatMap(({ properties = [] }) => properties.map(({ value }) => value));
    assert.deepEqual(files.toSorted(), libraries.toSorted());
  });

  for (const file of ["LICENSE", "THIRD_PARTY_LICENSES.md"]) {
    test(`${name} contains ${file}`, () => {
      assert.equal(fileTextIn(all[name], `sluice/${file}`), readFileSync(join(repositoryRoot, file), "utf8"));
    });
  }

  test(`${name} contains ${hasConsole ? "the built console with its licence" : "no console"}`, () => {
    const files = [...all[name].list.keys()].filter((path) => path.startsWith("sluice/gateway/console/"));
    const wanted = ["index.html", "index.html.br", "licenses.txt"].map(
      (file) => `sluice/gateway/console/build/${file}`,
    );
    assert.deepEqual(
      wanted.filter((path) => files.includes(path)),
      hasConsole ? wanted : [],
    );
    assert.equal(files.length > 0, hasConsole === true);
  });

  test(`${name} runs as a numeric user, and has labels that describe it`, () => {
    const { User, Labels } = all[name].runAs;
    assert.equal(User, "65532:65532");
    assert.match(fileTextIn(all[name], "etc/passwd"), /^sluice:x:65532:65532:/m);
    const label = (key: string) => Labels[`org.opencontainers.image.${key}`];
    assert.deepEqual(
      { title: label("title"), version: label("version"), licenses: label("licenses") },
      { title, version: manifest.version, licenses: "Apache-2.0" },
    );
    assert.match(label("revision") ?? "", /^[0-9a-f]{40}(-dirty)?$/);
  });

  test(`${name} is started with the interpreter, flags and variables in the first line of its command`, () => {
    const { Entrypoint, Env } = all[name].runAs;
    const command = Entrypoint.at(-1) ?? "";
    assert.ok(command.startsWith(`/sluice/${workspace}/build/`));
    const [line] = fileTextIn(all[name], command).split("\n");
    const variables = Env.filter((variable) => !/^(PATH|SLUICE_\w+)=/.test(variable));
    const words = [...variables, "node", ...Entrypoint.slice(1, -1)];
    assert.equal(line, `#!/usr/bin/env -S ${words.join(" ")}`);
  });
}

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly content: string }[];
  readonly licenses?: readonly { readonly expression: string }[];
  readonly properties?: readonly { readonly value: string }[];
}

const absences: readonly [image: ImageName, path: string][] = [
  ["operator", "@electric-sql/pglite"],
  ["operator", "ioredis"],
  ["gateway", "@kubernetes/client-node"],
  ["admin", "@electric-sql/pglite"],
  ["user-api", "@kubernetes/client-node"],
  ["user-api", "undici"],
];
for (const [image, name] of absences) {
  test(`${image} does not contain ${name}`, () => {
    assert.deepEqual(
      packagesIn(all[image]).filter((path) => path.endsWith(`node_modules/${name}`)),
      [],
    );
  });
}

test("sluice has defaults for docker run: listeners on all addresses, a token for the admin API, and one volume", () => {
  const { Env, Volumes, ExposedPorts, Cmd } = all.sluice.runAs;
  assert.deepEqual(
    Env.filter((variable) => variable.startsWith("SLUICE_")),
    [
      "SLUICE_PROXY_LISTEN=0.0.0.0:8000",
      "SLUICE_ADMIN_LISTEN=0.0.0.0:8001",
      "SLUICE_ADMIN_TOKEN_FILE=/var/lib/sluice/admin-token",
      "SLUICE_DATABASE_DIR=/var/lib/sluice/database",
      "SLUICE_DATABASE_BOOTSTRAP=true",
    ],
  );
  assert.deepEqual(
    [Volumes, ExposedPorts, Cmd],
    [{ "/var/lib/sluice": {} }, { "8000/tcp": {}, "8001/tcp": {} }, ["start"]],
  );
});

test("the same sources give the same digest, and all images share their first layer", () => {
  const [first, second] = [makeImageKit(), makeImageKit()].map((kit) => workloadImage(workloads["user-api"], kit));
  assert.equal(first?.digest, second?.digest);
  assert.equal(new Set(Object.values(workloads).map(({ name }) => all[name].layers[0])).size, 1);
});

test("a file whose path is longer than the name field of a tar header has its complete path and content in the image", () => {
  const files = [...all.gateway.list].filter(([path, { mode }]) => path.length > 100 && mode.startsWith("-"));
  assert.ok(files.length > 0);
  for (const [path] of files) {
    assert.equal(
      fileTextIn(all.gateway, path),
      readFileSync(join(repositoryRoot, path.replace("sluice/", "")), "utf8"),
    );
  }
});
