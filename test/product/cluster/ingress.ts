/**
 * Ingresses of a real API server, served by the product. The product's operator runs with SLUICE_PUBLISH_SERVICE set to
 * default/gateway.
 */
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { coreServices } from "./core-services.ts";
import type { Suite } from "./suite.ts";

export function ingressSuite(suite: Suite): void {
  describe("an Ingress", () => {
    after(() => suite.clear());
    const { kubectl } = suite.plane;

    const { serve, close } = coreServices(suite);
    after(close);

    const ingress = (name: string, spec: object, annotations: Readonly<Record<string, string>> = {}): object => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name, annotations },
      spec: { ingressClassName: "sluice", ...spec },
    });

    const backend = (name: string, port: object = { number: 80 }): object => ({ service: { name, port } });

    /** A rule whose paths are given as `<pathType> <path> <name of the core Service>`. */
    const rule = (host: string | undefined, ...paths: readonly string[]): object => ({
      ...(host !== undefined && { host }),
      http: {
        paths: paths.map((line) => {
          const [pathType = "", path = "", service = ""] = line.split(" ");
          return { pathType, path, backend: backend(service) };
        }),
      },
    });

    /** Sends a GET request with this Host. Resolves to the name of the upstream, or the status of another response. */
    function ask(host: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
      const [address, port] = suite.chosen.proxy.split(":");
      return new Promise((resolve, reject) => {
        request({ host: address, port, path, headers: { host, ...headers }, timeout: 10_000 }, (response) => {
          let body = "";
          response.setEncoding("utf8").on("data", (text: string) => (body += text));
          response.on("end", () => {
            const { statusCode, headers } = response;
            resolve(statusCode === 200 ? JSON.parse(body).name : `${statusCode} ${headers.location ?? ""}`.trim());
          });
        })
          .on("error", reject)
          .end();
      });
    }

    const served = (host: string, path: string, expected: string) =>
      waitFor(async () => (await ask(host, path)) === expected, {
        what: `${host}${path} to be answered by ${expected}`,
      });

    /** `<type> <reason> <message>` of each Event about an Ingress. */
    const eventsOf = (name: string) =>
      kubectl([
        "get",
        "events.events.k8s.io",
        "--field-selector",
        `regarding.kind=Ingress,regarding.name=${name}`,
        "-o",
        'jsonpath={range .items[*]}{.type} {.reason} {.note}{"\\n"}{end}',
      ]);

    before(async () => {
      await suite.apply({
        apiVersion: "networking.k8s.io/v1",
        kind: "IngressClass",
        metadata: { name: "sluice" },
        spec: { controller: "sluice.dev/ingress-controller" },
      });
      for (const name of ["red", "green", "blue", "white"]) await serve(name);
    });

    test("exact paths come before prefixes, longer prefixes before shorter ones, and prefixes match whole elements", async () => {
      await suite.apply(
        ingress("paths", {
          rules: [rule("paths.test", "Prefix / white", "Prefix /a/b blue", "Prefix /a green", "Exact /a/b red")],
        }),
      );
      await served("paths.test", "/a/b", "red");
      for (const [path, expected] of [
        ["/a/b/", "blue"],
        ["/a/b/c", "blue"],
        ["/a", "green"],
        ["/a/", "green"],
        ["/a/bc", "green"],
        ["/ab", "white"],
        ["/", "white"],
        ["/A", "white"],
      ] as const)
        assert.equal(await ask("paths.test", path), expected, path);
    });

    test("the default backend serves the other paths of the Ingress' hosts", async () => {
      await suite.apply(
        ingress("rest", {
          rules: [rule("rest.test", "Prefix /a green")],
          defaultBackend: backend("white", { name: "http" }),
        }),
      );
      await served("rest.test", "/b", "white");
      assert.equal(await ask("rest.test", "/a"), "green");
      assert.equal(await ask("other.test", "/b"), "404");
    });

    test("the status gets the addresses of the gateway's Service once every node serves the Ingress", async () => {
      const addresses = () =>
        kubectl(["get", "ingress", "paths", "-o", "jsonpath={.status.loadBalancer.ingress[*].ip}"]);
      assert.equal(await addresses(), "");
      const spec = { ports: [{ port: 80 }], externalIPs: ["192.0.2.7"] };
      await suite.apply({ apiVersion: "v1", kind: "Service", metadata: { name: "gateway" }, spec });
      await waitFor(async () => (await addresses()) === "192.0.2.7", { what: "the address of the gateway's Service" });
    });

    test("an Ingress of another class is not served", async () => {
      await suite.apply(
        ingress("foreign", { ingressClassName: "nginx", rules: [rule("foreign.test", "Prefix / red")] }),
        ingress("own", { rules: [rule("own.test", "Prefix / red")] }),
      );
      await served("own.test", "/", "red");
      assert.equal(await ask("foreign.test", "/"), "404");
    });

    test("an Ingress whose core Service does not exist answers 503, and an Event names the field", async () => {
      await suite.apply(ingress("broken", { rules: [rule("broken.test", "Prefix / absent", "Prefix /ok red")] }));
      await served("broken.test", "/ok", "red");
      assert.equal(await ask("broken.test", "/"), "503");
      await waitFor(
        async () =>
          (await eventsOf("broken")).includes(
            "Warning BackendNotFound spec.rules[0].http.paths[0].backend.service: there is no core Service absent",
          ),
        { what: "the Event" },
      );
      await serve("absent");
      await served("broken.test", "/", "absent");
    });

    test("a canary receives its part of the requests, and those with its header, for its own path only", async () => {
      const annotations = { canary: "true", "canary-weight": "25", "canary-by-header": "X-Canary" };
      const prefixed = Object.entries(annotations).map(([name, value]) => [
        `nginx.ingress.kubernetes.io/${name}`,
        value,
      ]);
      await suite.apply(
        ingress("stable", { rules: [rule("canary.test", "Prefix / white", "Prefix /admin white")] }),
        ingress("next", { rules: [rule("canary.test", "Prefix / blue")] }, Object.fromEntries(prefixed)),
      );
      const always = { "X-Canary": "always" };
      await waitFor(async () => (await ask("canary.test", "/", always)) === "blue", { what: "the canary" });
      const counts: Record<string, number> = {};
      for (let count = 0; count < 40; count++) {
        const name = await ask("canary.test", "/");
        counts[name] = (counts[name] ?? 0) + 1;
      }
      // A quarter, give or take a change of the configuration, which begins the rotation again.
      const { blue = 0, white = 0 } = counts;
      assert.equal(blue + white, 40);
      assert.ok(blue >= 7 && blue <= 13, JSON.stringify(counts));
      assert.equal(await ask("canary.test", "/", { "X-Canary": "never" }), "white");
      assert.equal(await ask("canary.test", "/admin", always), "white");
    });

    test("a deleted Ingress is no longer served", async () => {
      await kubectl(["delete", "ingress", "own"]);
      await served("own.test", "/", "404");
    });
  });
}
