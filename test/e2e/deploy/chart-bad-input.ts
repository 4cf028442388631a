/** Upgrades that fail: the reported reasons, and traffic, which continues during them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { waitFor } from "../../../tools/process/index.ts";
import { callersNamespace } from "./chart-callers-pod.ts";
import { type ChartScene, minutes } from "./chart-scene.ts";
import { release } from "./helm.ts";

/** The part of `kubectl get pods -o json` about containers that do not run. */
interface ContainerStatus {
  readonly state: { readonly waiting?: { readonly reason: string; readonly message?: string } };
  readonly lastState: { readonly terminated?: { readonly exitCode: number; readonly message?: string } };
}

export function badInput(scene: () => ChartScene): void {
  const isServed = async () => {
    assert.equal(await scene().statusOf("/users/healthz", await scene().consumer()), 200);
  };

  test("pods that do not become Ready report the reasons in their status, and the previous pods continue to serve", {
    timeout: 3 * minutes,
  }, async () => {
    const { kubectl, tryUpgrade, upgrade, podsOf } = scene();
    const before = { gateway: await podsOf("gateway"), users: await podsOf("user-api") };
    const wrong = ["--set", "gateway.image.tag=absent", "--set", "userApi.env.SLUICE_USER_API_PAGE=many"];
    const { code, stderr } = await tryUpgrade(...wrong, "--timeout=8s");
    assert.equal(code, 1);
    assert.match(stderr, /Deployment\/sluice\/sluice-gateway not ready/);
    assert.match(stderr, /Deployment\/sluice\/sluice-user-api not ready/);
    const statusesOf = async (part: string, old: readonly string[]): Promise<readonly ContainerStatus[]> => {
      const label = `app.kubernetes.io/component=${part}`;
      const { items } = JSON.parse(await kubectl("get", "pods", "-l", label, "-o", "json"));
      return items
        .filter(({ metadata }: { metadata: { name: string } }) => !old.includes(metadata.name))
        .flatMap(
          ({ status }: { status: { containerStatuses: readonly ContainerStatus[] } }) => status.containerStatuses,
        );
    };
    await waitFor(
      async () =>
        (await statusesOf("gateway", before.gateway)).some(
          ({ state }) =>
            state.waiting?.reason === "ImagePullBackOff" && /gateway:absent/.test(state.waiting.message ?? ""),
        ),
      { what: "ImagePullBackOff with the image's name", timeout: minutes, interval: 500 },
    );
    await waitFor(
      async () =>
        (await statusesOf("user-api", before.users)).some(
          ({ state, lastState: { terminated } }) =>
            state.waiting?.reason === "CrashLoopBackOff" &&
            terminated?.exitCode === 1 &&
            /SLUICE_USER_API_PAGE must be a whole number from 1 to 100000/.test(terminated.message ?? ""),
        ),
      { what: "CrashLoopBackOff with the last message of the process", timeout: minutes, interval: 500 },
    );
    await isServed();
    await upgrade();
    const now = async () => ({ gateway: await podsOf("gateway"), users: await podsOf("user-api") });
    await waitFor(async () => isDeepStrictEqual(await now(), before), {
      what: "the previous pods, and no other pods",
      timeout: minutes,
      interval: 500,
    });
    await isServed();
  });

  test("a node port in use is reported by its number, the Service is not changed, and the next upgrade succeeds", async () => {
    const { cluster, kubectl, tryUpgrade, upgrade } = scene();
    const taken = ["nodeport", "taken", "--tcp=80", "--node-port=30080", "--namespace", callersNamespace];
    await cluster.kubectl(["create", "service", ...taken]);
    const service = () =>
      kubectl("get", `service/${release}-gateway`, "-o", "jsonpath={.spec.type} {.spec.ports[*].nodePort}");
    const before = await service();
    const onPort = (port: number) => [
      "--set",
      "gateway.service.type=NodePort",
      "--set",
      `gateway.service.nodePort=${port}`,
    ];
    const { code, stderr } = await tryUpgrade(...onPort(30_080));
    assert.equal(code, 1);
    assert.match(stderr, /sluice-gateway.*nodePort: Invalid value: 30080: provided port is already allocated/);
    assert.equal(await service(), before);
    await isServed();
    await upgrade(...onPort(30_081));
    assert.equal(await service(), "NodePort 30081");
    const script = "fetch('http://10.99.0.1:30081/users/healthz').then(({ status }) => console.log(status))";
    const answered = async () => (await cluster.run(process.execPath, ["--eval", script])).stdout.trim() === "401";
    await waitFor(answered, { what: "the proxy to answer at the node port", interval: 200 });
  });
}
