/**
 * The same changes with and without a fault: under constant load, one Route is added, one is edited, one is removed,
 * and one is made invalid. A witness sends a request to both nodes whenever a status reports Programmed.
 */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Resource } from "@sluice/crds";
import { waitFor } from "../../../tools/process/index.ts";
import { getUrl } from "../../product/client.ts";
import { routeObject, serviceObject } from "../../product/resources.ts";
import { underLoad } from "../../product/under-load.ts";
import type { FaultEnvironment } from "./fault-environment.ts";

/** The observable final state. */
interface Outcome {
  /** The statuses that each node returns, by path. */
  readonly served: Readonly<Record<string, readonly number[]>>;
  /** Types, statuses and reasons of conditions for the current generation, by resource. */
  readonly conditions: Readonly<Record<string, readonly string[]>>;
}

const programmed = ["Accepted True Accepted", "Programmed True Programmed", "ResolvedRefs True ResolvedRefs"];

/** The final state after the changes, with or without a fault. */
export const expectedOutcome: Outcome = {
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
    "Route/added": programmed,
    "Route/broken": ["Accepted False Invalid", "Programmed False Invalid", "ResolvedRefs True ResolvedRefs"],
    "Route/edited": programmed,
    "Route/kept": programmed,
    "Service/echo": programmed,
  },
};

export interface FaultOptions {
  /** Injects the fault and calls `change` to make the changes; without a fault it is `(change) => change()`. */
  readonly fault: (change: () => Promise<void>) => Promise<unknown>;
  /** Nodes that must respond to every request at all times. Default: both. */
  readonly loaded?: readonly (0 | 1)[];
  /** Maximum milliseconds from the fault's end to the final state. Default 60,000: other work may share the machine. */
  readonly within?: number;
  /** Minimum number of requests to each loaded node during the changes. Default 21. Without a fault, fewer are sent. */
  readonly least?: number;
}

const serviceRef = { name: "echo" };
const edited = (version: number) => routeObject("edited", { serviceRef, paths: [`/edited-${version}`] });
const MANAGER = "fault-test";

async function write(environment: FaultEnvironment, ...resources: readonly object[]): Promise<void> {
  for (const one of resources as readonly Resource[])
    await environment.client.apply(one.kind as "Route", one, { manager: MANAGER });
}

/** Creates the resources that the changes begin with. */
async function begin(environment: FaultEnvironment): Promise<void> {
  await environment.client.remove({ kind: "Route", namespace: "default", name: "added" });
  const same = ["kept", "removed", "broken"].map((name) => routeObject(name, { serviceRef }));
  await write(environment, serviceObject("echo", environment.upstream.port), ...same, edited(1));
  await waitFor(
    async () => {
      const { served, conditions } = await readOutcome(environment);
      const names = ["Route/broken", "Route/edited", "Route/kept", "Route/removed", "Service/echo"];
      const isServed = ["/kept", "/removed", "/broken", "/edited-1"].every((path) =>
        served[path]?.every((status) => status === 200),
      );
      if (!isServed || !names.every((name) => conditions[name]?.includes("Programmed True Programmed"))) return false;
      // If the operator restarts, it reads the last valid version of the invalid Route from the saved document.
      return (await environment.operator.status()).hash === (await environment.kept());
    },
    { what: "the initial resources to be served", timeout: 60_000, interval: 50 },
  );
  await waitForAgreement(environment, 60_000);
}

async function change(environment: FaultEnvironment): Promise<void> {
  await write(environment, routeObject("added", { serviceRef }), edited(2));
  await environment.client.remove({ kind: "Route", namespace: "default", name: "removed" });
  await write(environment, routeObject("broken", { serviceRef, paths: ["~/(unclosed"] }));
}

let pushes = 0;

/** Causes one more push by a change without an observable effect. */
export const causePush = (environment: FaultEnvironment): Promise<void> =>
  write(environment, routeObject("edited", { serviceRef, paths: ["/edited-2"], tags: [`push-${++pushes}`] }));

/** Status of the response; 0: no response. */
const ask = (url: string): Promise<number> =>
  getUrl(url).then(
    ({ status }) => status,
    () => 0,
  );

export async function readOutcome(environment: FaultEnvironment): Promise<Outcome> {
  const paths = Object.keys(expectedOutcome.served);
  const served = paths.map(async (path) => {
    return [path, await Promise.all(environment.nodes.map(({ proxy }) => ask(proxy + path)))] as const;
  });
  const lists = await Promise.all((["Route", "Service"] as const).map((kind) => environment.client.list(kind)));
  const conditions = lists.flat().map(({ kind, metadata, status }) => {
    const current = (status?.conditions ?? []).filter((one) => one.observedGeneration === metadata.generation);
    return [
      `${kind}/${metadata.name}`,
      current.map((one) => `${one.type} ${one.status} ${one.reason}`).sort(),
    ] as const;
  });
  return {
    served: Object.fromEntries(await Promise.all(served)),
    conditions: Object.fromEntries(conditions.sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/** Collects false statuses: Programmed was reported while a responding node does not serve the resource. */
function witness(environment: FaultEnvironment): { end(): Promise<readonly string[]> } {
  const abort = new AbortController();
  const faults: string[] = [];
  const checks: Promise<void>[] = [];
  async function check({ metadata, spec, status }: Resource): Promise<void> {
    const condition = status?.conditions?.find(({ type }) => type === "Programmed");
    if (condition?.status !== "True" || condition.observedGeneration !== metadata.generation) return;
    const [path] = (spec as { paths: readonly string[] }).paths;
    for (const { name, proxy, status: ownStatus } of environment.nodes) {
      // A node that waits for its first document has no routes.
      if ((await ask(`${ownStatus}/status/ready`)) !== 200) continue;
      const answer = await ask(`${proxy}${path}`);
      // 0: the node may have died after it was found ready.
      if (answer === 200 || answer === 0) continue;
      // The resource may have been changed or removed during this check.
      const now = await environment.client.get({ kind: "Route", namespace: "default", name: metadata.name });
      if (now && now.metadata.uid === metadata.uid && now.metadata.generation === metadata.generation)
        faults.push(`${metadata.name} is Programmed, but ${name} answers ${path} with ${answer}`);
    }
  }
  const changed = (resource: Resource) => void checks.push(check(resource));
  environment.client.watch(
    "Route",
    { replaced: (all) => all.forEach(changed), changed, removed() {}, lost() {} },
    { signal: abort.signal },
  );
  return {
    async end() {
      abort.abort();
      await Promise.all(checks);
      return faults;
    },
  };
}

/**
 * Waits until the operator's document equals its twin's, and both nodes run it. The twin never leads and so never
 * loads the document of another operator. It knows only last valid versions of resources that it has read itself.
 */
export async function waitForAgreement(environment: FaultEnvironment, timeout: number): Promise<void> {
  let last: readonly (string | null)[] = [];
  const agree = async () => {
    const [own, twin] = await Promise.all([environment.operator.status(), environment.twin.status()]);
    last = [own.hash, twin.hash, ...twin.nodes.map(({ hash }) => hash ?? null)];
    return new Set(last).size === 1;
  };
  await waitFor(agree, { what: "operator, twin and nodes to agree", timeout }).catch((error) =>
    assert.fail(
      `${error}: ${last.join(", ")}\n${environment.operator.process.tail(40)}\ntwin:\n${environment.twin.process.tail(40)}`,
    ),
  );
}

/**
 * Makes the changes during the fault. Fails if a request failed, a status was false, or the final state is not the
 * expected one.
 */
export async function changeDuringFault(
  environment: FaultEnvironment,
  { fault, loaded = [0, 1], within = 60_000, least = 21 }: FaultOptions,
): Promise<void> {
  await begin(environment);
  const seen = witness(environment);
  const urls = environment.nodes.filter((_, at) => loaded.includes(at as 0 | 1)).map(({ proxy }) => `${proxy}/kept`);
  let last: Outcome | undefined;
  const loads = await underLoad(urls, async () => {
    await fault(() => change(environment));
    const settled = async () => {
      last = await readOutcome(environment);
      return isDeepStrictEqual(last, expectedOutcome);
    };
    await waitFor(settled, { what: "the final state", timeout: within, interval: 50 }).catch(() => {});
    assert.deepEqual(last, expectedOutcome, environment.operator.process.tail(40));
    await waitForAgreement(environment, within);
  });
  assert.deepEqual(await seen.end(), []);
  for (const [url, { answered, failures }] of Object.entries(loads)) {
    assert.deepEqual(failures.slice(0, 5), [], `${failures.length} of ${answered} requests to ${url} failed`);
    assert.ok(answered >= least, `only ${answered} requests to ${url}`);
  }
}
