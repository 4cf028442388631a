/** Starts complete operators on a directory of resources and one node. Each test chooses the store and the election. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { createDirectoryClient, type StateBackend } from "@sluice/crds";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { temporaryFolder } from "../../../tools/process/index.ts";
import type { StartLeaderElection } from "../leader-election/leader-election.ts";
import { startOperator } from "../operator.ts";
import { operatorSettings } from "../settings.ts";
import { startTestNode } from "../testing-node.ts";

const TOKEN = "token-of-the-test";

/** Members of the operator's /status response. */
export interface OperatorStatusBody {
  readonly hash: string | null;
  readonly term: number | null;
  readonly acknowledged: readonly string[];
  readonly nodes: readonly { readonly hash?: string | null }[];
}

export interface OperatorParts {
  readonly store: StateBackend;
  /** Minimum interval between two saves, as a duration of the settings: `1h`. */
  readonly interval: string;
  /** Default: the operator leads alone. */
  readonly startElection?: StartLeaderElection;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A new directory of resources, a test node, and a function that starts operators on both. Directory and node are
 * removed after the last test of the file.
 */
export async function operatorsOver(name: string) {
  const folder = temporaryFolder(name);
  after(() => folder.remove());
  const node = await startTestNode(TOKEN);
  after(() => node.stop());
  const log = pino({ level: "silent" });
  return {
    folder: folder.path,
    node,
    log,
    write: (name: string, spec: object, kind = "Route") =>
      writeFileSync(
        join(folder.path, `${name}.json`),
        JSON.stringify({ apiVersion: "sluice.dev/v1alpha1", kind, metadata: { name }, spec }),
      ),
    /** The paths of all Routes that the node serves. */
    paths: () => [...(node.snapshot?.routes.values() ?? [])].flatMap((one) => one.paths ?? []).sort(),
    async start({ interval, env = {}, ...parts }: OperatorParts) {
      const client = createDirectoryClient({ directory: folder.path, log });
      const settings = readSettings(operatorSettings, {
        SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
        SLUICE_DIRECTORY: folder.path,
        SLUICE_NODES: node.address,
        SLUICE_PUSH_TOKEN: TOKEN,
        SLUICE_DOCUMENT_INTERVAL: interval,
        ...env,
      });
      assert.ok(settings.value, JSON.stringify(settings.violations));
      const pushCredentials = { credentials: { token: TOKEN } };
      const operator = await startOperator({ settings: settings.value, client, pushCredentials, log, ...parts });
      const address = `http://127.0.0.1:${operator.address.port}`;
      return {
        client,
        status: async () => (await (await fetch(`${address}/status`)).json()) as OperatorStatusBody,
        metrics: async () => (await fetch(`${address}/metrics`)).text(),
        isReady: async () => (await fetch(`${address}/readyz`)).ok,
        async close() {
          await operator.close();
          await client.close();
        },
      };
    },
  };
}
