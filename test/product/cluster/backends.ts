/** Core Services as upstreams: their addresses come from their EndpointSlices, whichever controller writes them. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { getUrl, type NamedUpstream, startNamedUpstream } from "../client.ts";
import { resourceObject, routeObject } from "../resources.ts";
import { underLoad } from "../under-load.ts";
import { addressOfMachine } from "./core-services.ts";
import type { Suite } from "./suite.ts";

export function backendSuite(suite: Suite): void {
  describe("core Services as upstreams", () => {
    after(() => suite.clear());
    const url = `http://${suite.chosen.proxy}/shop`;
    const host = addressOfMachine();
    const upstreams = new Map<string, NamedUpstream>();
    before(async () => {
      for (const name of ["one", "two", "three"]) upstreams.set(name, await startNamedUpstream(name, host));
    });
    after(() => Promise.all([...upstreams.values()].map((upstream) => upstream.close())));

    const core = (name: string) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { ports: [{ name: "http", port: 80, targetPort: "http" }] },
    });

    /**
     * An EndpointSlice of a core Service with one upstream. Each upstream has its own slice, because all endpoints of a
     * slice share its ports.
     */
    function slice(name: string, ready = true, of = "shop"): object {
      return {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: `${of}-${name}`, labels: { "kubernetes.io/service-name": of } },
        addressType: "IPv4",
        ports: [{ name: "http", protocol: "TCP", port: upstreams.get(name)?.port }],
        endpoints: [{ addresses: [host], conditions: { ready, serving: ready, terminating: false } }],
      };
    }

    /** Sends this number of requests, one after the other. Resolves to the number of responses of each upstream. */
    async function answering(requests: number, to = url): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (let count = 0; count < requests; count++) {
        const { status, body } = await getUrl(to);
        assert.equal(status, 200, JSON.stringify(body));
        const { name } = body as { name: string };
        counts[name] = (counts[name] ?? 0) + 1;
      }
      return counts;
    }

    const answeredBy = (expected: Record<string, number>, what: string) =>
      waitFor(
        async () => {
          assert.deepEqual(await answering(10), expected);
          return true;
        },
        { what },
      );

    test("a Service whose core Service is missing reports this in a condition, and its route answers 503", async () => {
      await suite.apply(
        resourceObject("Service", "shop", { backendRef: { name: "shop", port: 80 } }),
        routeObject("shop"),
      );
      await suite.plane.kubectl(["wait", "--for=condition=ResolvedRefs=False", "--timeout=60s", "gwsvc/shop"]);
      assert.match(await suite.condition("gwsvc/shop", "ResolvedRefs"), /^False BackendNotFound .*shop/);
      await waitFor(async () => (await getUrl(url)).status === 503, { what: "the route to answer 503" });
    });

    test("requests are distributed evenly among all addresses of the core Service", async () => {
      await suite.apply(core("shop"), slice("one"), slice("two"));
      await suite.programmed("gwsvc/shop", "gwroute/shop");
      await answeredBy({ one: 5, two: 5 }, "both upstreams to receive half of the requests");
    });

    test("an address that is not ready gets no requests, and no request is lost when an address becomes unready and then ready again", async () => {
      const loads = await underLoad([url], async () => {
        await suite.apply(slice("two", false));
        await answeredBy({ one: 10 }, "only the ready upstream to receive requests");
        await suite.apply(slice("two"));
        await waitFor(async () => (await answering(10)).two !== undefined, {
          what: "the second upstream to receive requests again",
        });
      });
      assert.deepEqual(loads[url]?.failures, []);
    });

    test("an endpoint that becomes unready causes no status write", async () => {
      const version = () => suite.plane.kubectl(["get", "gwsvc/shop", "-o", "jsonpath={.metadata.resourceVersion}"]);
      const before = await version();
      await suite.apply(slice("one", false));
      await answeredBy({ two: 10 }, "only the second upstream to receive requests");
      assert.equal(await version(), before);
    });

    const weighted = `http://${suite.chosen.proxy}/weighted`;
    const weightedAnsweredBy = (expected: Record<string, number>, what: string) =>
      waitFor(
        async () => {
          assert.deepEqual(await answering(100, weighted), expected);
          return true;
        },
        { what },
      );

    test("an Upstream over two core Services distributes requests by their weights, whatever the number of their endpoints", async () => {
      const backendRefs = [
        { name: "stable", port: 80, weight: 90 },
        { name: "canary", port: 80, weight: 10 },
      ];
      await suite.apply(
        core("stable"),
        core("canary"),
        slice("one", true, "stable"),
        slice("two", true, "canary"),
        resourceObject("Upstream", "weighted", { name: "weighted.internal", backendRefs }),
        resourceObject("Service", "weighted", { host: "weighted.internal" }),
        routeObject("weighted"),
      );
      await suite.programmed("gwupstream/weighted", "gwsvc/weighted", "gwroute/weighted");
      await weightedAnsweredBy({ one: 90, two: 10 }, "one endpoint of each core Service to receive its part");
      await suite.apply(slice("three", true, "stable"));
      await weightedAnsweredBy(
        { one: 45, three: 45, two: 10 },
        "two endpoints to share the part of their core Service",
      );
    });

    test("an Upstream is served without a core Service that is deleted, and reports this in a condition", async () => {
      await suite.plane.kubectl(["delete", "service/canary"]);
      await suite.plane.kubectl(["wait", "--for=condition=ResolvedRefs=False", "--timeout=60s", "gwupstream/weighted"]);
      assert.match(await suite.condition("gwupstream/weighted", "ResolvedRefs"), /^False BackendNotFound .*canary/);
      await weightedAnsweredBy({ one: 50, three: 50 }, "the other core Service to receive all requests");
    });
  });
}
