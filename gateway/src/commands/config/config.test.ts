import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { deriveId, loadText, lookupHash, registerPlugins } from "@sluice/model";
import { deviceTokenFacts } from "../../../../test/plugins/device-token.ts";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { CommandError, UsageError } from "../command.ts";
import { runCommandLine } from "../testing-command.ts";

registerPlugins([deviceTokenFacts]);

interface Desk {
  readonly path: (name: string) => string;
  readonly read: (name: string) => string;
  /** The texts of the progress of all commands. */
  readonly shown: readonly string[];
  /** The output of the command, or its error. Paths are relative to the folder. */
  readonly config: (words: string | readonly string[], env?: Readonly<Record<string, string>>) => Promise<string>;
}

function desk(context: TestContext, files: Readonly<Record<string, string>> = {}): Desk {
  const folder = temporaryFolder("config");
  context.after(() => folder.remove());
  const path = (name: string) => join(folder.path, name);
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text);
  const plain = (text: string) => text.replaceAll(`${folder.path}/`, "");
  const shown: string[] = [];
  return {
    path,
    shown,
    read: (name) => readFileSync(path(name), "utf8"),
    async config(words, env = {}) {
      const args = typeof words === "string" ? words.split(" ").filter((word) => word !== "") : words;
      const located = args.map((word) => (/\.|folder/.test(word) ? path(word) : word));
      try {
        const variables = { SLUICE_DATABASE_DIR: path("database"), ...env };
        const { printed, progress } = await runCommandLine(["config", ...located], variables);
        shown.push(...progress);
        return plain(printed);
      } catch (error) {
        if (error instanceof UsageError) return plain(`invalid: ${error.message}`);
        if (error instanceof CommandError) return plain(["refused:", error.message, ...error.faults].join("\n"));
        throw error;
      }
    },
  };
}

const kong = `_format_version: "3.0"
services:
  - name: users
    url: http://users.example
    routes:
      - name: users
        paths: [/users]
consumers:
  - username: alice
    keyauth_credentials:
      - key: secret
plugins:
  - name: key-auth
    route: users
`;

const uncommented: readonly (readonly [what: string, uncomment: RegExp])[] = [
  ["removing the first # of its lines", /^#/gm],
  ["removing the first # and a space, as editors do", /^# ?/gm],
  ["removing the # of the YAML lines only", /^#(?!#)/gm],
];

for (const [what, uncomment] of uncommented) {
  test(`the example of init is a valid configuration before and after ${what}`, async (context) => {
    const { config, read, path } = desk(context);
    assert.equal(await config("init a.yml"), "a.yml is written\n");
    assert.equal(await config("parse a.yml"), "parse successful\n");
    writeFileSync(path("b.yml"), read("a.yml").replaceAll(uncomment, ""));
    assert.equal(await config("parse b.yml"), "parse successful\n");
    const { value } = loadText(read("b.yml"));
    assert.deepEqual([value?.snapshot.routes.size, value?.snapshot.keyauth_credentials.size], [1, 1]);
  });
}

test("the command in the example of init names the file that contains it, whatever the file is called", async (context) => {
  const { config, path } = desk(context);
  const names = ["kong.yml", "my gateway.yml", "it's.yml", "-a.yml"];
  for (const name of names) assert.equal(await config(["init", "--", name]), `${name} is written\n`);
  const sluice = `sluice() { [ "$1 $2" = "config parse" ] && shift 2 && [ "$1" != -- ] || shift; printf '%s\\n' "$1"; }`;
  for (const name of names) {
    const [, command = ""] = /^## Check it: (.*)$/m.exec(readFileSync(path(name), "utf8")) ?? [];
    const printed = execFileSync("sh", ["-c", `${sluice}\n${command}`], { encoding: "utf8" });
    assert.equal(printed, `${path(name)}\n`);
  }
});

test("init and export never overwrite a file", async (context) => {
  const { config, read, path } = desk(context, { "a.yml": "mine" });
  const refused = "refused:\na.yml already exists and is not overwritten: choose another name, or move it";
  assert.equal(await config("init a.yml"), refused);
  const env = { SLUICE_STORE: "directory", SLUICE_DIRECTORY: path("resources") };
  mkdirSync(path("resources"));
  assert.equal(await config("export a.yml", env), refused);
  assert.equal(read("a.yml"), "mine");
});

for (const words of ["import a.yml", "export b.yml"]) {
  test(`config ${words} reports a missing folder of resources, or a file in its place, as an error of the settings`, async (context) => {
    const { config, path } = desk(context, { "a.yml": kong });
    for (const [directory, said] of [
      [path("nowhere"), "the folder does not exist"],
      [path("a.yml"), "it is not a folder"],
    ] as const) {
      await assert.rejects(config(words, { SLUICE_STORE: "directory", SLUICE_DIRECTORY: directory }), {
        name: "SettingsError",
        message: `SLUICE_DIRECTORY is ${directory}: ${said}`,
      });
    }
  });
}

test("parse reports every error with its position", async (context) => {
  const { config } = desk(context, { "a.yml": '_format_version: "3.0"\nservices:\n- name: a\n  port: x\nroute: []\n' });
  assert.equal(
    await config("parse a.yml"),
    "refused:\na.yml has 3 errors:\na.yml:3:3: services[0].host: required field missing\n" +
      "a.yml:4:3: services[0].port: expected an integer\na.yml:5:1: route: unknown field",
  );
});

test("parse reports members without effect", async (context) => {
  const { config } = desk(context, { "a.yml": `partials: []\n${kong}_workspace: default\n_workspace: other\n` });
  const end = kong.split("\n").length;
  assert.equal(
    await config("parse a.yml"),
    [
      "warning: a.yml:1:1: partials: ignored: Sluice has no 'partials' yet, and none are given",
      `warning: a.yml:${end + 2}:1: _workspace: duplicate key: this value replaces the one at ${end + 1}:1, which is ignored`,
      `warning: a.yml:${end + 2}:1: _workspace: ignored: it tells decK which workspace to use, and Sluice has only one`,
      "parse successful\n",
    ].join("\n"),
  );
});

const misuses: readonly (readonly [words: string, result: string])[] = [
  ["", "invalid: Usage: sluice config [options] [command]"],
  ["pars a.yml", "invalid: unknown command 'pars'"],
  ["parse", "invalid: missing required argument 'FILE'"],
  ["parse a.yml b.yml", "invalid: too many arguments for 'parse'. Expected 1 argument but got 2: a.yml, b.yml."],
  ["parse --fast a.yml", "invalid: unknown option '--fast'"],
  ["init --help", "Usage: sluice config init [options] [FILE]"],
  ["init -h", "Usage: sluice config init [options] [FILE]"],
  ["init --hlep", "invalid: unknown option '--hlep'"],
  ["db_export --version", "0.0.0"],
  ["convert a.yml", "invalid: required option '--to <FORM>' not specified"],
  [
    "convert a.yml --to yaml",
    "invalid: option '--to <FORM>' argument 'yaml' is invalid. Allowed choices are custom-resources, declarative.",
  ],
  ["convert a.yml --to declarative --ot b", "invalid: unknown option '--ot'"],
  ["convert a.yml --to", "invalid: option '--to <FORM>' argument missing"],
  ["convert a.yml --to declarative --out=", "invalid: --out must name a file or folder"],
];

for (const [words, result] of misuses) {
  test(`the result of '${`config ${words}`.trim()}' is: ${result}`, async (context) => {
    assert.equal((await desk(context).config(words)).split("\n")[0], result);
  });
}

test("a file whose name looks like an option can be given after --", async (context) => {
  const { config, read } = desk(context);
  assert.equal(await config("init -- --a.yml"), "--a.yml is written\n");
  assert.match(read("--a.yml"), /_format_version/);
});

test("import creates and changes entities, prints their number, and deletes nothing; export writes all entities", async (context) => {
  const more = `${kong}upstreams:\n- name: up\n`.replace("[/users]", "[/people]");
  const { config, path, read, shown } = desk(context, {
    "a.yml": kong,
    "b.yml": more,
    "store.yml": '_format_version: "3.0"\n',
  });
  const env = { SLUICE_STORE: "file", SLUICE_FILE: path("store.yml"), SLUICE_FILE_WRITABLE: "on" };
  const counts = (lines: readonly string[]) => `import successful\n${lines.map((line) => `  ${line}\n`).join("")}`;
  const created = [
    "services                 ",
    "routes                   ",
    "consumers                ",
    "keyauth_credentials      ",
    "plugins                  ",
  ];
  assert.equal(
    await config("import a.yml", env),
    counts(created.map((name) => `${name}1 created, 0 changed, 0 unchanged`)),
  );
  assert.deepEqual(shown, ["reading the store", "writing 5 entities"]);
  assert.equal(
    await config("db_import b.yml", env),
    counts([
      "upstreams                1 created, 0 changed, 0 unchanged",
      ...created.map((name) =>
        name.startsWith("routes")
          ? `${name}0 created, 1 changed, 0 unchanged`
          : `${name}0 created, 0 changed, 1 unchanged`,
      ),
    ]),
  );
  assert.match(await config("import a.yml", env), /routes {19}0 created, 1 changed/);
  assert.equal(await config("db_export c.yml", env), "c.yml is written\n");
  assert.equal(statSync(path("c.yml")).mode & 0o777, 0o600);
  assert.match(read("c.yml"), /upstreams:\n {2}- name: up\n/);
  assert.equal(await config("export -", env), read("c.yml"));
  assert.equal(loadText(read("c.yml")).value?.snapshot.hash, loadText(read("store.yml")).value?.snapshot.hash);
});

const withPasswords = `_format_version: "3.0"
consumers:
  - username: ann
    basicauth_credentials:
      - username: ann
        password: open sesame
      - username: imported
        password: 0123456789abcdef0123456789abcdef01234567
`;

test("import stores hashes of passwords, and a repeated import changes nothing; a new password changes one credential", async (context) => {
  const { config, path, read, shown } = desk(context, {
    "a.yml": withPasswords,
    "b.yml": withPasswords.replace("open sesame", "another"),
    "store.yml": '_format_version: "3.0"\n',
  });
  const env = { SLUICE_STORE: "file", SLUICE_FILE: path("store.yml"), SLUICE_FILE_WRITABLE: "on" };
  assert.match(await config("import a.yml", env), /basicauth_credentials {4}2 created/);
  assert.deepEqual(shown, ["reading the store", "hashing 2 passwords", "writing 3 entities"]);
  const stored = read("store.yml");
  assert.match(stored, /username: ann\n +password: \$scrypt\$/);
  assert.match(stored, /password: "?0123456789abcdef0123456789abcdef01234567/);
  assert.doesNotMatch(stored, /sesame/);
  assert.match(await config("import a.yml", env), /basicauth_credentials {4}0 created, 0 changed, 2 unchanged/);
  assert.equal(read("store.yml"), stored);
  assert.match(await config("import b.yml", env), /basicauth_credentials {4}0 created, 1 changed, 1 unchanged/);
});

test("export hashes plain passwords as Kong does, and an import of the exported file into the same store changes nothing", async (context) => {
  const { config, path, read } = desk(context, { "store.yml": withPasswords });
  const env = { SLUICE_STORE: "file", SLUICE_FILE: path("store.yml"), SLUICE_FILE_WRITABLE: "on" };
  await config("export out.yml", env);
  const hashed = hash("sha1", `open sesame${deriveId("consumers", "ann")}`);
  assert.match(read("out.yml"), /^_transform: false$/m);
  assert.match(read("out.yml"), new RegExp(`password: "?${hashed}`));
  assert.doesNotMatch(read("out.yml"), /sesame/);
  assert.match(await config("import out.yml", env), /basicauth_credentials {4}0 created, 0 changed, 2 unchanged/);
  assert.equal(read("store.yml"), withPasswords);
});

test("import into a folder of resources leaves no batch annotations in the written files", async (context) => {
  const { config, path } = desk(context, { "a.yml": kong });
  mkdirSync(path("resources"));
  const env = { SLUICE_STORE: "directory", SLUICE_DIRECTORY: path("resources") };
  assert.match(await config("import a.yml", env), /^import successful\n/);
  const files = readdirSync(path("resources"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".yaml"),
  );
  assert.ok(files.length >= 4, files.join());
  for (const name of files)
    assert.doesNotMatch(readFileSync(path(join("resources", name)), "utf8"), /sluice\.dev\/batch/);
});

test("import writes nothing if the store refuses an entity, and reports its position in the file", async (context) => {
  const id = "0123abcd-0000-4000-8000-00000000000f";
  const { config, path, read } = desk(context, {
    "a.yml": `${kong}upstreams:\n- name: up\nsnis: []\n`,
    "b.yml": `_format_version: "3.0"\nservices:\n- name: new\n  host: new\n- id: ${id}\n  name: users\n  host: x\n`,
  });
  const env = { SLUICE_STORE: "file", SLUICE_FILE: path("a.yml"), SLUICE_FILE_WRITABLE: "on" };
  const before = read("a.yml");
  assert.equal(
    await config("import b.yml", env),
    "refused:\nb.yml is not imported, and nothing was written:\n" +
      "b.yml:5:3: services[1]: the store has another entity with the same name",
  );
  assert.equal(
    await config("import b.yml", { ...env, SLUICE_FILE_WRITABLE: "off" }).then((result) => result.split("\n")[2]),
    "b.yml:3:3: services[0]: the store is read-only",
  );
  assert.equal(read("a.yml"), before);
});

test("convert turns a file into custom resources, turns these back into the file's entities, and overwrites no file", async (context) => {
  const { config, path, read } = desk(context, { "a.yml": kong });
  assert.equal(await config("convert a.yml --to custom-resources --out folder"), "5 resources are written to folder\n");
  assert.equal(await config("convert folder --to declarative --out b.yml"), "b.yml is written\n");
  assert.equal(loadText(read("b.yml")).value?.snapshot.hash, loadText(kong).value?.snapshot.hash);
  const printed = await config("convert a.yml --to custom-resources");
  writeFileSync(path("c.yml"), printed);
  assert.equal(await config("convert c.yml --to declarative"), read("b.yml"));
  const again = await config("convert a.yml --to custom-resources --out folder");
  assert.match(again, /^refused:\nthese files already exist and are not overwritten:\n(folder\/[a-z]+\/.*\n?){5}$/);
});

const header =
  "apiVersion: sluice.dev/v1alpha1\nkind: Service\nmetadata: {name: a}\nspec:\n  url: http://up\n" +
  "  upstreamHeaders: [{name: X-Key, secretRef: {name: up, key: key}}]\n";

test("convert writes values from Secrets into the file", async (context) => {
  const secret =
    "---\napiVersion: v1\nkind: Secret\nmetadata: {name: up, labels: {sluice.dev/credential: any}}\nstringData: {key: key-1, pin: pin-1}\n";
  const credential =
    "---\napiVersion: sluice.dev/v1alpha1\nkind: Consumer\nmetadata: {name: ann}\nspec:\n  username: ann\n" +
    "  pluginCredentials: [{plugin: device-token, secretRef: {name: up, key: key}, " +
    "configFrom: [{path: pin, secretRef: {name: up, key: pin}}]}]\n";
  const { config } = desk(context, { "a.yml": header + secret + credential });
  const printed = await config("convert a.yml --to declarative");
  const { value } = loadText(printed);
  assert.ok(value, printed);
  const { services, plugin_credentials } = value.snapshot;
  assert.deepEqual([...services.values()][0]?.upstream_headers, [{ name: "X-Key", value: "key-1" }]);
  const [device] = plugin_credentials.values();
  assert.equal(device?.config?.pin, "pin-1");
  assert.equal(device?._sluice?.key_hash, lookupHash("key-1", "device-token"));
});

const resources: readonly [string, string, string][] = [
  [
    "a reference to a missing Secret",
    header,
    "a.yml:6:47: spec.upstreamHeaders[0].secretRef.name: there is no Secret up with the label sluice.dev/credential in the namespace default: create it, or add the label. In a cluster, if the Secret exists: `kubectl -n default label secret up sluice.dev/credential=`, otherwise: `kubectl -n default create secret generic up --from-literal=key=VALUE && kubectl -n default label secret up sluice.dev/credential=`",
  ],
  [
    "a wrong value",
    "apiVersion: sluice.dev/v1alpha1\nkind: Service\nmetadata:\n  name: a\nspec:\n  host: up\n  port: x\n",
    "a.yml:7:3: spec.port: expected an integer",
  ],
  [
    "a reference to a missing entity",
    "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\napiVersion: sluice.dev/v1alpha1\nkind: Route\nmetadata:\n  name: a\nspec:\n  paths: [/]\n  serviceRef:\n    name: b\n",
    "a.yml:13:5: spec.serviceRef.name: there is no Service b in the namespace default",
  ],
  [
    "a duplicate name",
    ["a", "b"]
      .map(
        (name) =>
          `apiVersion: sluice.dev/v1alpha1\nkind: Service\nmetadata: {name: ${name}}\nspec: {name: s, host: up}\n`,
      )
      .join("---\n"),
    "a.yml:9:1: spec: uniqueness violation: 'services' entity with name set to 's' already declared",
  ],
  ["broken YAML", "a: [\n", "a.yml:1:4: this [ is not closed: its ] is missing or not indented enough"],
];

for (const [what, text, fault] of resources) {
  test(`convert reports the position of ${what} in a resource`, async (context) => {
    const { config } = desk(context, { "a.yml": text });
    const result = await config("convert a.yml --to declarative");
    assert.equal(result.split("\n").slice(0, 3).join("\n"), `refused:\na.yml cannot be converted:\n${fault}`);
  });
}
