/** The release's metrics, scraped as Prometheus would. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChartScene } from "./chart-scene.ts";
import { type RenderedChart, release, render } from "./helm.ts";

/** For each part with a ServiceMonitor, a metric that it always has. */
const metrics: Readonly<Record<string, RegExp>> = {
  gateway: /^sluice_http_requests_total\{.*\} [1-9]/m,
  operator: /^leader_election_master_status\{name="sluice-operator"\} 1$/m,
  "user-api": /^sluice_user_api_live\{kind="socket"\} \d/m,
};

/** A ServiceMonitor of the chart. */
interface Monitor extends RenderedChart {
  readonly spec: {
    readonly selector: {
      readonly matchLabels: Readonly<Record<string, string>>;
      /** All with the operator In. */
      readonly matchExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
    };
    readonly endpoints: readonly { readonly port: string; readonly path: string }[];
  };
}

/** An item in the output of `kubectl get endpointslices`. */
interface Slice {
  readonly ports: readonly { readonly name: string; readonly port: number }[] | null;
  readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null;
}

export function metricsTests(scene: () => ChartScene): void {
  test("another pod can read the metrics of every pod at the ports that the ServiceMonitors name", async () => {
    const { kubectl, callers, podsOf } = scene();
    const rendered = await render({ values: ["--set", "monitoring.serviceMonitors.enabled=true"] });
    const monitors = rendered.filter((object): object is Monitor => object.kind === "ServiceMonitor");
    assert.deepEqual(
      monitors.map(({ metadata }) => metadata.name.replace(`${release}-`, "")).sort(),
      Object.keys(metrics).sort(),
    );
    for (const { metadata, spec } of monitors) {
      const part = metadata.name.replace(`${release}-`, "");
      // EndpointSlices carry the labels of their Service.
      const { matchLabels, matchExpressions = [] } = spec.selector;
      const labels = [
        ...Object.entries(matchLabels).map(([name, value]) => `${name}=${value}`),
        ...matchExpressions.map(({ key, values }) => `${key} in (${values})`),
      ];
      const found = JSON.parse(await kubectl("get", "endpointslices", "-l", labels.join(","), "-o", "json"));
      const slices: readonly Slice[] = found.items;
      const [endpoint] = spec.endpoints;
      const urls = slices.flatMap(({ ports, endpoints }) =>
        (ports ?? [])
          .filter(({ name }) => name === endpoint?.port)
          .flatMap(({ port }) =>
            (endpoints ?? []).map(({ addresses: [address] }) => `http://${address}:${port}${endpoint?.path}`),
          ),
      );
      assert.equal(urls.length, (await podsOf(part)).length, `targets of ${part}`);
      const texts = await Promise.all(
        urls.map(async (url) => {
          const { status, body } = await callers.ask(url);
          assert.equal(status, 200, `${part}: ${body.slice(0, 200)}`);
          return body;
        }),
      );
      assert.match(texts.join("\n"), metrics[part] ?? /^$/, part);
    }
  });
}
