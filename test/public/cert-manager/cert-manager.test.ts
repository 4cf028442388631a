/** cert-manager gets certificates for Ingresses and Gateways of Sluice, with the commands of the page about it. */
import assert from "node:assert/strict";
import { Agent, request } from "node:https";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { writeCommand } from "../../../tools/cluster/command.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { runPage } from "../../e2e/run-page.ts";
import { acmeDirectory, type CertManagerScene, type PresentedCertificate, startCertManagerScene } from "./scene.ts";

let scene: CertManagerScene;
/** The port of this machine that leads to the port 443 of the proxy Service. */
let proxy: number;
const folder = temporaryFolder("cert-manager");
after(async () => {
  await scene?.stop();
  folder.remove();
});

const kubectl = (...args: readonly string[]) => scene.cluster.kubectl(args);

/** A value of a resource, such as `{.spec.clusterIP}`. */
const readValue = (resource: string, path: string, namespace = "default") =>
  kubectl("get", ...resource.split(" "), "--namespace", namespace, "-o", `jsonpath=${path}`);

before(
  async () => {
    scene = await startCertManagerScene();
    const address = await readValue("service sluice-gateway", "{.spec.clusterIP}", "sluice");
    for (const name of ["shop.example", "in-place.example"]) await scene.setName(name, address);
    proxy = (await scene.cluster.forward(address, 443)).port;
  },
  { timeout: 600_000 },
);

/** Waits until a certificate is presented that the authority has signed, and that is not the one with this serial. */
const newCertificate = (
  name: string,
  authority: string,
  { port = proxy, serial = "" } = {},
): Promise<PresentedCertificate> =>
  waitFor(
    async () => {
      const found = await scene.presented(port, name, authority);
      return found.valid && found.serial !== serial && found;
    },
    { what: `a new certificate of ${name}`, timeout: 120_000, interval: 200 },
  );

/** Renews a certificate at once, as `cmctl renew` does. */
async function renew(name: string): Promise<void> {
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const value = { type: "Issuing", status: "True", reason: "ManuallyTriggered", message: "", lastTransitionTime };
  const patch = JSON.stringify([{ op: "add", path: "/status/conditions/-", value }]);
  await kubectl("patch", "certificates.cert-manager.io", name, "--subresource=status", "--type=json", "-p", patch);
}

const internalAuthority = async () =>
  Buffer.from(await readValue("secret intranet-tls", "{.data.ca\\.crt}"), "base64").toString();

/** The number of names whose challenges Pebble has found to be answered. */
const challengesPassed = () => scene.pebble.output().match(/authz \S+ set VALID/g)?.length ?? 0;

test("the commands of issue-certificates.md print what the page shows", async (context) => {
  writeCommand(join(folder.path, "bin"), "kubectl", [await obtainTool("kube"), "kubectl"]);
  const address = waitFor(
    () => readValue("gateway public", "{.status.addresses[0].value}").then((text) => text || null),
    {
      what: "the address of the Gateway",
      timeout: 300_000,
      interval: 500,
    },
  );
  const named = address.then((found) => scene.setName("www.shop.example", found));
  const steps = await runPage(context, "docs/how-to/issue-certificates.md", {
    cwd: folder.path,
    env: {
      KUBECONFIG: await scene.cluster.outsideKubeconfig(),
      PATH: [join(folder.path, "bin"), process.env.PATH].join(delimiter),
    },
    replaced: { "https://acme-v02.api.letsencrypt.org/directory": acmeDirectory },
  });
  await named;
  assert.ok(steps.filter(({ output }) => output !== "").length >= 3);
  assert.equal(challengesPassed(), 2);
});

test("the proxy presents the certificates of Ingresses, and the Gateway that of its listener", async () => {
  await newCertificate("shop.example", scene.root);
  await newCertificate("intranet.example", await internalAuthority());
  const { port } = await scene.cluster.forward(await readValue("gateway public", "{.status.addresses[0].value}"), 443);
  await newCertificate("www.shop.example", scene.root, { port });
});

test("cert-manager has removed the Ingresses and HTTPRoutes of its challenges, and Sluice has accepted their annotations and paths", async () => {
  await waitFor(
    async () => (await kubectl("get", "ingresses,httproutes", "-l", "acme.cert-manager.io/http01-solver")) === "",
    { what: "the resources of the challenges to be removed" },
  );
  const events = await kubectl("get", "events", "--field-selector", "type=Warning", "-o", "json");
  const { items } = JSON.parse(events) as {
    items: { reason: string; message: string; involvedObject: { name: string } }[];
  };
  const ofChallenges = items.filter(
    // cert-manager deletes the core Service of a challenge before the Ingress.
    ({ involvedObject, reason }) =>
      /^cm-acme-http-solver-/.test(involvedObject.name) && /Annotation|Path|Host/.test(reason),
  );
  assert.deepEqual(
    ofChallenges.map(({ reason, message }) => `${reason} ${message}`),
    [],
  );
});

test("a certificate of an Ingress that redirects all plain http is renewed by a challenge", async () => {
  await kubectl("annotate", "ingress", "shop", "nginx.ingress.kubernetes.io/force-ssl-redirect=true");
  const [before, passed] = [await newCertificate("shop.example", scene.root), challengesPassed()];
  await renew("shop-tls");
  await newCertificate("shop.example", scene.root, before);
  assert.equal(challengesPassed(), passed + 1);
});

test("a certificate of a Gateway is renewed by a challenge", async () => {
  const { port } = await scene.cluster.forward(await readValue("gateway public", "{.status.addresses[0].value}"), 443);
  const [before, passed] = [await newCertificate("www.shop.example", scene.root, { port }), challengesPassed()];
  await renew("www-tls");
  await newCertificate("www.shop.example", scene.root, { ...before, port });
  assert.equal(challengesPassed(), passed + 1);
});

test("a challenge that cert-manager adds to the Ingress itself is answered", async () => {
  const ingress = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "in-place",
      annotations: { "cert-manager.io/issuer": "letsencrypt", "acme.cert-manager.io/http01-edit-in-place": "true" },
    },
    spec: {
      ingressClassName: "sluice",
      tls: [{ hosts: ["in-place.example"], secretName: "in-place-tls" }],
      rules: [
        {
          host: "in-place.example",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "shop", port: { number: 80 } } } }],
          },
        },
      ],
    },
  };
  await scene.cluster.kubectl(["apply", "-f", "-"], JSON.stringify(ingress));
  await newCertificate("in-place.example", scene.root);
});

test("a renewal fails no request, and closes no connection", async (context) => {
  const authority = await internalAuthority();
  const before = await newCertificate("intranet.example", authority);
  const agent = new Agent({ keepAlive: true, maxSockets: 4, ca: authority });
  context.after(() => agent.destroy());
  const connections = new Set<unknown>();
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { host: "127.0.0.1", port: proxy, servername: "intranet.example", agent, timeout: 20_000 };
      request({ ...options, headers: { host: "intranet.example" } }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      })
        .on("socket", (socket) => connections.add(socket))
        .on("error", reject)
        .end();
    });
  const statuses = new Map<number | undefined, number>();
  let renewed = false;
  const load = [1, 2, 3, 4].map(async () => {
    while (!renewed) {
      const status = await ask();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  await renew("intranet-tls");
  await newCertificate("intranet.example", authority, before).finally(() => {
    renewed = true;
  });
  await Promise.all(load);
  await Promise.all([1, 2, 3, 4].map(ask));
  assert.deepEqual([...statuses.keys()], [200]);
  assert.equal(connections.size, 4);
});
