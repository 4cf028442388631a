import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Declarations, loadSettings } from "@sluice/model";
import { parseDocument } from "yaml";
import { adminSettings } from "../../gateway/src/settings/commands/admin.ts";
import { gatewaySettings } from "../../gateway/src/settings/commands/gateway.ts";
import { migrationsSettings } from "../../gateway/src/settings/commands/migrations.ts";
import { startSettings } from "../../gateway/src/settings/commands/start.ts";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { runAsOf } from "../../tools/images/build.ts";
import { packageVersion, workloads } from "../../tools/images/contents/workloads.ts";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly read_only?: boolean;
  readonly stop_grace_period?: string;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
}

const declarations: Readonly<Record<string, Declarations>> = {
  start: startSettings,
  gateway: gatewaySettings,
  admin: adminSettings,
  migrations: migrationsSettings,
};

const image = runAsOf(workloads.sluice);
const defaults = Object.fromEntries(image.Env.map((variable) => variable.split("=", 2) as [string, string]));

/**
 * The members of Compose's specification that the files use. A misspelled member would have no effect, or be refused.
 */
const members = new Set([
  ...["image", "command", "environment", "ports", "volumes", "depends_on", "healthcheck", "restart"],
  ...["read_only", "cap_drop", "security_opt", "stop_grace_period"],
]);

for (const file of ["compose.yaml", "compose.postgres.yaml"]) {
  // Compose replaces variables of the caller's environment; `:?` makes them mandatory.
  const text = readFileSync(join(repositoryRoot, "gateway", file), "utf8").replace(
    /\$\{\w+:\?[^}]+\}/g,
    "0123456789abcdef",
  );
  const parsed = parseDocument(text, { merge: true });
  const { services, volumes }: Compose = parsed.toJS();
  const own = Object.entries(services).filter(([, service]) => service.image.startsWith("sluice/"));

  test(`gateway/${file} is valid YAML, uses members of Compose's specification, and refers to its own services and volumes`, () => {
    assert.deepEqual([...parsed.errors, ...parsed.warnings], []);
    for (const [name, service] of Object.entries(services)) {
      assert.deepEqual(
        Object.keys(service).filter((member) => !members.has(member)),
        [],
        name,
      );
      const needed = Object.keys(service.depends_on ?? {});
      assert.deepEqual(
        needed.filter((other) => !(other in services)),
        [],
      );
      const mounted = (service.volumes ?? []).map((volume) => volume.split(":")[0] ?? "");
      assert.deepEqual(
        mounted.filter((volume) => !(volume in volumes)),
        [],
      );
    }
  });

  for (const [name, { command, environment = {}, ...service }] of own) {
    test(`gateway/${file}: the settings of ${name} are settings of its command, with valid values`, async () => {
      const settings = declarations[command?.[0] ?? image.Cmd[0] ?? ""] ?? assert.fail(`no command ${command}`);
      const known = Object.values(settings).map(({ variable }) => variable);
      assert.deepEqual(
        Object.keys(environment).filter((variable) => !known.includes(variable)),
        [],
      );
      const { violations } = await loadSettings(settings, { env: { ...defaults, ...environment }, flags: {} });
      assert.deepEqual(violations, []);
    });

    test(`gateway/${file}: ${name} runs the image of this version, writes only to its volume, and has time to drain`, () => {
      assert.equal(service.image, `sluice/sluice:${packageVersion}`);
      assert.deepEqual([service.read_only, service.stop_grace_period], [true, "35s"]);
      for (const volume of service.volumes ?? [])
        assert.ok((volume.split(":")[1] ?? "") in (image.Volumes ?? {}), volume);
      for (const port of service.ports ?? []) {
        const [inside = "", outside, host] = port.split(":").toReversed();
        assert.ok(`${inside}/tcp` in (image.ExposedPorts ?? {}), `${port}, ${outside}`);
        if (inside === "8001") assert.equal(host, "127.0.0.1", "the admin API");
      }
    });
  }
}
