import assert from "node:assert/strict";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../../../../tools/process/index.ts";
import { CommandError, UsageError } from "../../command.ts";
import { runCommandLine } from "../../testing-command.ts";

/** A folder with these files, and a function that runs the command there. */
function desk(context: TestContext, files: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder("migrate-kubernetes");
  context.after(() => folder.remove());
  const path = (name: string) => join(folder.path, name);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  }
  const plain = (text: string) => text.replaceAll(`${folder.path}/`, "").replaceAll(folder.path, ".");
  const migrate = async (...args: readonly string[]): Promise<readonly [code: number | string, output: string]> => {
    try {
      const { code, printed } = await runCommandLine(["migrate", "kubernetes", ...args]);
      return [code, plain(printed)];
    } catch (error) {
      if (error instanceof UsageError) return ["misused", error.message];
      if (error instanceof CommandError) return ["failed", plain([error.message, ...error.faults].join("\n"))];
      throw error;
    }
  };
  return { path, folder: folder.path, migrate };
}

const ingress = (name: string, annotations = "{}") => `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: ${name}, annotations: ${annotations} }
spec:
  ingressClassName: kong
  rules: [{ host: ${name}.example, http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }] } }]
`;

const service = "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { ports: [{ port: 80 }] }\n";

const secret = `apiVersion: v1
kind: Secret
metadata: { name: key, labels: { konghq.com/credential: key-auth } }
stringData: { key: k }
`;

const consumer = `apiVersion: configuration.konghq.com/v1
kind: KongConsumer
metadata: { name: alice, annotations: { kubernetes.io/ingress.class: kong } }
username: alice
credentials: [key]
`;

test("migrate kubernetes exits with 0 and writes a file for each resource, Secrets for the owner only", async (context) => {
  const files = {
    "a.yaml": `${ingress("web")}---\n${service}`,
    "below/b.yml": `${consumer}---\n${secret}`,
    "notes.md": "#",
  };
  const { path, folder, migrate } = desk(context, files);
  const [code, output] = await migrate("-f", folder, "--write", path("out"));
  assert.equal(code, 0, output);
  assert.match(output, /^\.: 3 of 3 objects are served\n\nequal\n/);
  assert.match(output, /\n\n3 resources are written to out\n$/);
  assert.deepEqual(
    readdirSync(path("out"), { recursive: true })
      .filter((name) => String(name).endsWith(".yaml"))
      .toSorted(),
    ["default/consumer/alice.yaml", "default/ingress/web.yaml", "default/secret/key.yaml"],
  );
  assert.equal(statSync(path("out/default/secret/key.yaml")).mode & 0o777, 0o600);
});

test("migrate kubernetes exits with 3 if an object is not served, and overwrites no file", async (context) => {
  const { path, folder, migrate } = desk(context, { "a.yaml": ingress("web", '{ konghq.com/plugins: "keys" }') });
  const [code, output] = await migrate("-f", folder, "--write", path("out"));
  assert.equal(code, 3);
  const [, absent] = output.split("\nabsent\n");
  assert.equal(
    absent,
    `  a.yaml:3:39: Ingress default/web: metadata.annotations["konghq.com/plugins"]: there is no KongPlugin default/keys and no KongClusterPlugin of this name among the objects: add it, or remove it from the annotation
    -> requests in its scope are answered 503
  a.yaml:6:77: Ingress default/web: spec.rules[0].http.paths[0].backend: the core Service default/web is not among the objects, and its annotations may protect: add it
    -> requests in its scope are answered 503

4 resources are written to out
`,
  );
  const [again, message] = await migrate("-f", path("a.yaml"), "--write", path("out"));
  assert.equal(again, "failed");
  assert.match(message, /^these files already exist and are not overwritten:\nout\/default\//);
});

test("migrate kubernetes reports every file that cannot be read, with line and column", async (context) => {
  const { folder, migrate } = desk(context, {
    "chart/deployment.yaml": `${service}---\nmetadata:\n  name: {{ .Values.name }}\n`,
    "chart/values.yaml": "replicas: 1\n",
    "list.yaml": `apiVersion: v1\nkind: List\nitems:\n  - kind: Service\n  - apiVersion: v1\n    kind: Secret\n    metadata:\n      name: s\n      labels:\n        a: true\n`,
    "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    "base/web.yaml": ingress("web"),
    "overlay/web.yaml": `# an overlay\n${ingress("web")}`,
  });
  const [code, message] = await migrate("-f", folder);
  assert.equal(code, "failed");
  assert.deepEqual(message.split("\n"), [
    ". cannot be read:",
    "chart/deployment.yaml:7:9: a template: read the rendered manifests, such as those of 'kustomize build' or 'helm template', with -f -",
    "chart/values.yaml:1:1: an object is a map with apiVersion, kind and metadata",
    "kustomization.yaml:1:1: metadata.name: required",
    "list.yaml:4:5: an object is a map with apiVersion, kind and metadata",
    "list.yaml:10:9: metadata.labels[a]: must be a string (quote numbers, true and false)",
    "overlay/web.yaml:2:1: Ingress default/web is also at base/web.yaml:1:1: read the rendered manifests, such as those of 'kustomize build' or 'helm template', with -f -",
  ]);
});

const refused = [
  [[], "misused", "give -f PATH or --cluster"],
  [["-f", "a.yaml", "--cluster"], "misused", "give -f PATH or --cluster"],
  [["-f", "a.yaml", "--context", "c"], "misused", "--context and --kubeconfig need --cluster"],
  [["-f", "a.yaml", "--write", ""], "misused", "--write must name a folder"],
  [["--cluster", "--kubeconfig", "/none"], "failed", /^the kubeconfig cannot be read: ENOENT/],
] as const;
for (const [args, code, expected] of refused) {
  test(`migrate kubernetes ${args.join(" ")} is refused`, async (context) => {
    const [found, message] = await desk(context).migrate(...args);
    assert.equal(found, code);
    if (typeof expected === "string") assert.equal(message, expected);
    else assert.match(message, expected);
  });
}

test("an empty folder is no configuration without objects", async (context) => {
  const { folder, migrate } = desk(context);
  assert.deepEqual(await migrate("-f", folder), [
    "failed",
    ". has no Kubernetes objects: name a folder or file with YAML",
  ]);
});
