import assert from "node:assert/strict";
import { test } from "node:test";
import { cgroupHierarchies } from "./cgroups.ts";

const controllers = ["cpu,cpuacct", "cpuset", "devices", "freezer", "memory", "pids"];
const groupLines = (names: readonly string[], path: string) =>
  names.map((name, index) => `${index + 1}:${name}:${path}`);
const mountLine = (options: string, { root = "/", point = `/sys/fs/cgroup/${options}`, access = "rw" } = {}) =>
  `40 30 0:35 ${root} ${point} ${access},nosuid - cgroup cgroup rw,${options}`;

test("the control group of the process is found in every hierarchy of cgroup v1", () => {
  const groups = [...groupLines([...controllers, "name=systemd"], "/a/b:c"), "0::/unified"].join("\n");
  const mounts = [...controllers.map((name) => mountLine(name)), mountLine("name=systemd", { point: "/c/systemd" })];
  const found = cgroupHierarchies(groups, ["20 1 0:5 / /proc rw - proc proc rw", ...mounts].join("\n"));
  assert.ok(typeof found !== "string");
  assert.deepEqual(found.slice(0, 2), [
    { options: "cpu,cpuacct", own: "/sys/fs/cgroup/cpu,cpuacct/a/b:c" },
    { options: "cpuset", own: "/sys/fs/cgroup/cpuset/a/b:c" },
  ]);
  assert.deepEqual(found.at(-1), { options: "none,name=systemd", own: "/c/systemd/a/b:c" });
  assert.equal(found.length, controllers.length + 1);
});

test("the control group is found if a mount shows only the container's part of the hierarchy", () => {
  const mounts = controllers.map((name) => mountLine(name, { root: "/docker/1" })).join("\n");
  const found = cgroupHierarchies(groupLines(controllers, "/docker/1/x").join("\n"), mounts);
  assert.ok(typeof found !== "string");
  assert.equal(found[1]?.own, "/sys/fs/cgroup/cpuset/x");
});

const refused: readonly [what: string, groups: string, mounts: string, expected: RegExp][] = [
  [
    "only cgroup v2",
    "0::/user.slice",
    "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
    /^this machine has only cgroup v2, and a cluster with pods needs cgroup v1: start the kernel with /,
  ],
  [
    "no control groups at all",
    "",
    "20 1 0:5 / /proc rw - proc proc rw",
    /^cgroup v1 is not mounted for cpu, cpuacct, cpuset, devices, freezer, memory, pids$/,
  ],
  [
    "cgroup v2 and a part of v1",
    [...groupLines(["memory"], "/"), "0::/user.slice"].join("\n"),
    [mountLine("memory"), "30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"].join("\n"),
    /^cgroup v1 is not mounted for cpu, cpuacct, cpuset, devices, freezer, pids$/,
  ],
  [
    "control groups that are mounted read-only, as in a container",
    groupLines(controllers, "/docker/1").join("\n"),
    controllers.map((name) => mountLine(name, { root: "/docker/1", access: "ro" })).join("\n"),
    /^control groups cannot be created in \/sys\/fs\/cgroup\/cpu,cpuacct, .*: mounted read-only, as in a container/,
  ],
  [
    "a controller that is not mounted",
    groupLines(controllers, "/").join("\n"),
    controllers
      .filter((name) => name !== "memory")
      .map((name) => mountLine(name))
      .join("\n"),
    /^cgroup v1 is not mounted for memory$/,
  ],
];
for (const [what, groups, mounts, expected] of refused) {
  test(`on a machine with ${what}, the error message names the problem`, () => {
    const answer = cgroupHierarchies(groups, mounts);
    assert.ok(typeof answer === "string");
    assert.match(answer, expected);
  });
}
