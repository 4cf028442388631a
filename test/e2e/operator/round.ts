/**
 * The same changes with and without a fault: a Route is added, one edited, one removed, one made invalid, under
 * constant load. A witness sends a request to both nodes whenever a status reports Programmed.
 */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Resource } from "@sluice/crds";
import { waitFor } from "../../../tools/process/index.ts";
import { get } from "../../product/client.ts";
import { route, service } from "../../product/resources.ts";
import { underLoad } from "../../product/under-load.ts";
import type { Scene } from "./scene.ts";

/** The observable final state. */
export interface Outcome {
  /** The statuses that each node returns, by path. */
  readonly served: Readonly<Record<string, readonly number[]>>;
  /** Types, statuses and reasons of conditions for the current generation, by resource. */
  readonly conditions: Readonly<Record<string, readonly string[]>>;
}

const well = ["Accepted True Accepted", "Programmed True Programmed", "ResolvedRefs True ResolvedRefs"];

/** The final state of the changes, with or without a fault. */
export const expected: Outcome = {
  served: {
    "/kept": [200, 200],
    "/added": [200, 200],
    "/edited-1": [404, 404],
    "/edited-2": [200, 200],
    "/removed": [404, 404],
    // The last valid version is served.
    "/broken": [200, 200],
  },
  conditions: {
    "Route/added": well,
    "Route/broken": ["Accepted False Invalid", "Programmed False Invalid", "ResolvedRefs True ResolvedRefs"],
    "Route/edited": well,
    "Route/kept": well,
    "Service/echo": well,
  },
};

export interface RoundOptions {
  /** Injects the fault and calls `change` to make the changes; without a fault it is `(change) => change()`. */
  readonly fault: (change: () => Promise<void>) => Promise<unknown>;
  /** Nodes that must respond to every request at all times. Default: both. */
  readonly loaded?: readonly (0 | 1)[];
  /** Maximum milliseconds from the fault's end to the final state. Default 60,000: other work may share the machine. */
  readonly within?: number;
  /** Minimum number of requests to each loaded node during the round. Default 21; a round without a fault is shorter. */
  readonly least?: number;
}

const serviceRef = { name: "echo" };
const edited = (version: number) => route("edited", { serviceRef, paths: [`/edited-${version}`] });
const MANAGER = "round";

async function write(scene: Scene, ...resources: readonly object[]): Promise<void> {
  for (const one of resources as readonly Resource[])
    await scene.client.apply(one.kind as "Route", one, { manager: MANAGER });
}

/** Creates the initial state of a round. */
async function begin(scene: Scene): Promise<void> {
  await scene.client.remove({ kind: "Route", namespace: "default", name: "added" });
  const same = ["kept", "removed", "broken"].map((name) => route(name, { serviceRef }));
  await write(scene, service("echo", scene.upstream.port), ...same, edited(1));
  await waitFor(
    async () => {
      const { served, conditions } = await look(scene);
      const names = ["Route/broken", "Route/edited", "Route/kept", "Route/removed", "Service/echo"];
      const isServed = ["/kept", "/removed", "/broken", "/edited-1"].every((path) =>
        served[path]?.every((status) => status === 200),
      );
      if (!isServed || !names.every((name) => conditions[name]?.includes("Programmed True Programmed"))) return false;
      // The operator needs the saved document for the last valid version of the invalid Route if it is killed.
      return (await scene.operator.status()).hash === (await scene.kept());
    },
    { what: "the start of a round", timeout: 60_000, interval: 50 },
  );
  await agreed(scene, 60_000);
}

async function change(scene: Scene): Promise<void> {
  await write(scene, route("added", { serviceRef }), edited(2));
  await scene.client.remove({ kind: "Route", namespace: "default", name: "removed" });
  await write(scene, route("broken", { serviceRef, paths: ["~/(unclosed"] }));
}

let nudges = 0;

/** Causes one more push by a change without an observable effect. */
export const nudge = (scene: Scene): Promise<void> =>
  write(scene, route("edited", { serviceRef, paths: ["/edited-2"], tags: [`nudge-${++nudges}`] }));

/** Status of the response; 0: no response. */
const ask = (url: string): Promise<number> =>
  get(url).then(
    ({ status }) => status,
    () => 0,
  );

export async function look(scene: Scene): Promise<Outcome> {
  const paths = Object.keys(expected.served);
  const served = paths.map(async (path) => {
    return [path, await Promise.all(scene.nodes.map(({ proxy }) => ask(proxy + path)))] as const;
  });
  const lists = await Promise.all((["Route", "Service"] as const).map((kind) => scene.client.list(kind)));
  const conditions = lists.flat().map(({ kind, metadata, status }) => {
    const said = (status?.conditions ?? []).filter((one) => one.observedGeneration === metadata.generation);
    return [`${kind}/${metadata.name}`, said.map((one) => `${one.type} ${one.status} ${one.reason}`).sort()] as const;
  });
  return {
    served: Object.fromEntries(await Promise.all(served)),
    conditions: Object.fromEntries(conditions.sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/** Collects false statuses: Programmed was reported while a responding node does not serve the resource. */
function witness(scene: Scene): { end(): Promise<readonly string[]> } {
  const abort = new AbortController();
  const faults: string[] = [];
  const looks: Promise<void>[] = [];
  async function check({ metadata, spec, status }: Resource): Promise<void> {
    const said = status?.conditions?.find(({ type }) => type === "Programmed");
    if (said?.status !== "True" || said.observedGeneration !== metadata.generation) return;
    const [path] = (spec as { paths: readonly string[] }).paths;
    for (const { name, proxy, status: ownStatus } of scene.nodes) {
      // A node that waits for its first document has no routes.
      if ((await ask(`${ownStatus}/status/ready`)) !== 200) continue;
      const answer = await ask(`${proxy}${path}`);
      // The node may have died since.
      if (answer === 200 || answer === 0) continue;
      // The resource may have been changed or removed since.
      const now = await scene.client.get({ kind: "Route", namespace: "default", name: metadata.name });
      if (now && now.metadata.uid === metadata.uid && now.metadata.generation === metadata.generation)
        faults.push(`${metadata.name} is Programmed, but ${name} answers ${path} with ${answer}`);
    }
  }
  const changed = (resource: Resource) => void looks.push(check(resource));
  scene.client.watch(
    "Route",
    { replaced: (all) => all.forEach(changed), changed, removed() {}, lost() {} },
    { signal: abort.signal },
  );
  return {
    async end() {
      abort.abort();
      await Promise.all(looks);
      return faults;
    },
  };
}

/**
 * Waits until the operator's document equals its twin's, and both nodes run it. The twin never leads and so never
 * loads the document of another operator. It knows only last valid versions that it has read itself.
 */
export async function agreed(scene: Scene, timeout: number): Promise<void> {
  let last: readonly (string | null)[] = [];
  const agree = async () => {
    const [own, twin] = await Promise.all([scene.operator.status(), scene.twin.status()]);
    last = [own.hash, twin.hash, ...twin.nodes.map(({ hash }) => hash ?? null)];
    return new Set(last).size === 1;
  };
  await waitFor(agree, { what: "operator, twin and nodes to agree", timeout }).catch((error) =>
    assert.fail(
      `${error}: ${last.join(", ")}\n${scene.operator.process.tail(40)}\ntwin:\n${scene.twin.process.tail(40)}`,
    ),
  );
}

/**
 * Makes the changes during the fault. Fails if a request failed, a status was false, or the final state is wrong.
 */
export async function round(
  scene: Scene,
  { fault, loaded = [0, 1], within = 60_000, least = 21 }: RoundOptions,
): Promise<void> {
  await begin(scene);
  const seen = witness(scene);
  const urls = scene.nodes.filter((_, at) => loaded.includes(at as 0 | 1)).map(({ proxy }) => `${proxy}/kept`);
  let last: Outcome | undefined;
  const loads = await underLoad(urls, async () => {
    await fault(() => change(scene));
    const settled = async () => {
      last = await look(scene);
      return isDeepStrictEqual(last, expected);
    };
    await waitFor(settled, { what: "the end of the round", timeout: within, interval: 50 }).catch(() => {});
    assert.deepEqual(last, expected, scene.operator.process.tail(40));
    await agreed(scene, within);
  });
  assert.deepEqual(await seen.end(), []);
  for (const [url, { answered, failures }] of Object.entries(loads)) {
    assert.deepEqual(failures.slice(0, 5), [], `${failures.length} of ${answered} requests to ${url} failed`);
    assert.ok(answered >= least, `only ${answered} requests to ${url}`);
  }
}
