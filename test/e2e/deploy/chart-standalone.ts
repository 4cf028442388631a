/** The image of `sluice start` in a pod without a chart, configured as with `docker run`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { imageName } from "../../../tools/images/build.ts";
import { type ChartScene, releaseNamespace } from "./chart-scene.ts";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "standalone", namespace: releaseNamespace },
  spec: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "sluice",
        image: imageName("sluice"),
        imagePullPolicy: "Never",
        securityContext: {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
        },
        readinessProbe: { httpGet: { path: "/readyz", port: 8001 }, periodSeconds: 1 },
        volumeMounts: [{ name: "data", mountPath: "/var/lib/sluice" }],
      },
    ],
    volumes: [{ name: "data", emptyDir: {} }],
  },
};

/** Runs in the container, which has the token: adds a route that answers by itself. */
const configure = `
  const { readFileSync } = await import("node:fs");
  const headers = {
    "content-type": "application/json",
    "kong-admin-token": readFileSync(process.env.SLUICE_ADMIN_TOKEN_FILE, "utf8").trim(),
  };
  const post = async (path, body) =>
    (await fetch("http://127.0.0.1:8001" + path, { method: "POST", headers, body: JSON.stringify(body) })).status;
  const config = { status_code: 200, message: "hello" };
  console.log(
    await post("/routes", { name: "here", paths: ["/here"] }),
    await post("/plugins", { name: "request-termination", route: { name: "here" }, config }),
  );`;

export function standaloneImage(scene: () => ChartScene): void {
  test("a pod of the image sluice answers another pod on port 8000, and refuses the other pod's requests to the admin API without the token", async () => {
    const { cluster, kubectl, callers } = scene();
    await cluster.kubectl(["apply", "--server-side", "-f", "-"], JSON.stringify(pod));
    await kubectl("wait", "pod/standalone", "--for=condition=Ready", "--timeout=60s");
    const inPod = (...words: readonly string[]) => kubectl("exec", "standalone", "--", ...words);
    assert.equal(await inPod("node", "--input-type=module", "--eval", configure), "201 201\n");
    const address = await kubectl("get", "pod/standalone", "-o", "jsonpath={.status.podIP}");
    const { status, body } = await callers.ask(`http://${address}:8000/here`);
    assert.deepEqual([status, JSON.parse(body)], [200, { message: "hello" }]);
    assert.equal((await callers.ask(`http://${address}:8001/routes`)).status, 401);
    assert.match(await inPod("sluice", "status"), /served as written/);
    await kubectl("delete", "pod/standalone");
  });
}
