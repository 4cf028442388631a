/** The disk of a store is full: a write is refused with the reason, reads continue, and writes succeed again when there is room. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openEmbedded } from "../../../gateway/src/database/embedded/embedded.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { adminOver, openWith } from "../../conformance/admin/over.ts";
import type { AdminHolder } from "../../conformance/admin/suite.ts";
import { bootstrapDatabase } from "../../conformance/store/database.ts";

interface FullStore {
  readonly name: string;
  /** The size of the volume; an embedded database needs 40 MB. */
  readonly size: string;
  /** Creates the store on the volume, and resolves to the settings with which the admin listener uses it. */
  readonly settings: (volume: string) => Promise<Readonly<Record<string, string>>>;
  /** The reported reason; `volume` stands for the path at which the volume is mounted. */
  readonly expected: RegExp;
  readonly isDatabase: boolean;
}

const stores: readonly FullStore[] = [
  {
    name: "an embedded database",
    size: "96m",
    async settings(volume) {
      const folder = join(volume, "database");
      const database = await bootstrapDatabase(await openEmbedded({ folder }));
      await database.close();
      return { SLUICE_STORE: "database", SLUICE_DATABASE_DIR: folder };
    },
    expected:
      /^the database cannot be used at the moment: could not .*: No space left on device \(in volume\/database\): free space on the disk of the database$/,
    isDatabase: true,
  },
  {
    name: "a declarative file",
    size: "256k",
    async settings(volume) {
      const file = join(volume, "kong.yml");
      writeFileSync(file, '_format_version: "3.0"\n');
      return { SLUICE_STORE: "file", SLUICE_FILE: file, SLUICE_FILE_WRITABLE: "true" };
    },
    expected:
      /^the declarative file volume\/kong\.yml cannot be written: ENOSPC: no space left on device, \w+ 'volume\/kong\.yml': free space on this disk$/,
    isDatabase: false,
  },
  {
    name: "a directory",
    size: "256k",
    async settings(volume) {
      const folder = join(volume, "resources");
      mkdirSync(folder);
      return { SLUICE_STORE: "directory", SLUICE_DIRECTORY: folder };
    },
    expected:
      /^the resources cannot be read or written: ENOSPC: no space left on device, \w+ 'volume\/resources\/.*': free space on this disk$/,
    isDatabase: false,
  },
];

/** Number of writes after which the test gives up. An embedded database needs another page earlier. */
const MOST = 2000;

for (const { name, size, settings, expected, isDatabase } of stores) {
  describe(`a full disk under ${name}`, () => {
    const folder = temporaryFolder("full-disk");
    const volume = join(folder.path, "volume");
    const ballast = join(volume, "ballast");
    let admin: AdminHolder;

    before(async () => {
      assert.equal(process.getuid?.(), 0, "only root can mount a small volume: run this as root");
      mkdirSync(volume);
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", volume]);
      admin = await adminOver(await openWith(await settings(volume)));
    });
    after(async () => {
      await admin?.close();
      execFileSync("umount", [volume]);
      folder.remove();
    });

    const write = (service: string) =>
      admin.ask("POST", "/services", { json: { name: service, host: "a.example", tags: ["long".repeat(30)] } });

    test("a write is refused with the reason, reads continue, and writes succeed again when there is space", async () => {
      assert.equal((await write("first")).status, 201);
      fill(ballast);
      let refused = await write("0");
      for (let count = 1; refused.status === 201 && count < MOST; count++) refused = await write(String(count));
      assert.equal(refused.status, 500, JSON.stringify(refused.body));
      const { message, ...rest } = refused.body as { message: string };
      assert.match(message.replaceAll(volume, "volume"), expected);
      assert.deepEqual(rest, isDatabase ? { code: 8, name: "database error" } : {});
      assert.equal((await admin.ask("GET", "/services/first")).status, 200);
      rmSync(ballast);
      assert.equal((await write("last")).status, 201);
    });
  });
}

/** Fills the rest of the volume with a file at this path. */
function fill(path: string): void {
  assert.throws(() => writeFileSync(path, Buffer.alloc(128 * 1024 * 1024)), { code: "ENOSPC" });
}
