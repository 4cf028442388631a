import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunAs } from "../../tools/images/archive/oci.ts";
import { runAsOf } from "../../tools/images/build.ts";
import { workloads } from "../../tools/images/contents/workloads.ts";

/** The stages of the Dockerfile by name: the base image, and the lines with the instructions. */
const stages = new Map(
  readFileSync(join(import.meta.dirname, "../../tools/images/Dockerfile"), "utf8")
    .replace(/^#.*\n/gm, "")
    .split(/^FROM /m)
    .slice(1)
    .map((text) => {
      const [from = "", ...lines] = text.split("\n").filter((line) => line !== "");
      const [base = "", , name = ""] = from.split(" ");
      return [name, { base, lines }] as const;
    }),
);

for (const workload of Object.values(workloads)) {
  const { name } = workload;

  test(`the Dockerfile creates the root file system of ${name} with the script that also builds images`, () => {
    assert.deepEqual(stages.get(`${name}-root`), {
      base: "build",
      lines: [`RUN node_modules/.bin/node tools/images/main.ts --root /image ${name}`],
    });
  });

  test(`the Dockerfile gives ${name} the user, folder, environment, command and labels of the image that the script builds`, () => {
    const { Labels, Env, WorkingDir, User, Entrypoint, Cmd, ...more } = runAsOf(workload);
    const labels = { ...Labels, "org.opencontainers.image.revision": "$REVISION" };
    const lines = [
      `COPY --from=${name}-root /image /`,
      "ARG REVISION",
      ...Object.entries(labels).map(([label, value]) => `LABEL ${label}="${value}"`),
      ...Env.map((variable) => `ENV ${variable}`),
      `WORKDIR ${WorkingDir}`,
      `USER ${User}`,
      `ENTRYPOINT ${words(Entrypoint)}`,
      `CMD ${words(Cmd)}`,
      ...Object.keys(more.ExposedPorts ?? {}).map((port) => `EXPOSE ${port}`),
      ...Object.keys(more.Volumes ?? {}).map((volume) => `VOLUME ${volume}`),
      ...(more.Healthcheck ? [healthCheckOf(more.Healthcheck)] : []),
    ];
    assert.deepEqual(stages.get(name), { base: "scratch", lines });
  });
}

test("the Dockerfile has no stages other than the build stage and two for each workload", () => {
  const names = Object.keys(workloads).flatMap((name) => [`${name}-root`, name]);
  assert.deepEqual([...stages.keys()].toSorted(), ["build", ...names].toSorted());
  assert.deepEqual(stages.get("build")?.lines, ["WORKDIR /src", "COPY . .", "RUN npm ci"]);
});

const words = (list: readonly string[]) => `[${list.map((word) => JSON.stringify(word)).join(", ")}]`;

function healthCheckOf({ Test: [kind = "", ...command], ...times }: NonNullable<RunAs["Healthcheck"]>): string {
  const [interval, timeout, start] = [times.Interval, times.Timeout, times.StartPeriod].map((time) => `${time / 1e9}s`);
  return `HEALTHCHECK --interval=${interval} --timeout=${timeout} --start-period=${start} ${kind} ${words(command)}`;
}
