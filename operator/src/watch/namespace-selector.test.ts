import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings, SettingsError } from "@sluice/model";
import { operatorSettings } from "../settings.ts";
import { namespaceSelectorOf } from "./watch-stage.ts";

function selected(env: Readonly<Record<string, string>>) {
  const { value, violations } = readSettings(operatorSettings, env);
  assert.ok(value, JSON.stringify(violations));
  return namespaceSelectorOf(value);
}

test("without a selector the resources of all watched namespaces are used", () => {
  assert.equal(selected({}), null);
});

test("the home namespace is selected whatever its labels are", () => {
  assert.deepEqual(selected({ SLUICE_NAMESPACE_SELECTOR: "a=b", SLUICE_HOME_NAMESPACE: "home" }), {
    labels: "a=b",
    always: ["home"],
  });
});

for (const [variable, value] of [
  ["SLUICE_NAMESPACES", "one"],
  ["SLUICE_DIRECTORY", "/resources"],
] as const)
  test(`a selector together with ${variable} is refused, and the message names both settings`, () => {
    assert.throws(
      () => selected({ SLUICE_NAMESPACE_SELECTOR: "a=b", [variable]: value }),
      (error) =>
        error instanceof SettingsError &&
        error.message.includes("SLUICE_NAMESPACE_SELECTOR") &&
        error.message.includes(variable),
    );
  });
