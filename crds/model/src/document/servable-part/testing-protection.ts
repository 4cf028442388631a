/**
 * Runs a table of tests that check which plugins of a servable part answer 503. Each document has the service `s` and
 * the route `open`, unless its row has other services or routes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDocument } from "../load.ts";
import { servablePart } from "./servable-part.ts";

type Members = Readonly<Record<string, unknown>>;

export const openRoute = { name: "open", paths: ["/"], service: "s" };

interface Expected {
  /** The plugins that answer 503, as `name` or `name of <singular>`. */
  readonly closed: readonly string[];
  /** Members of the route `r` in the result; null: it is left out. */
  readonly route?: Members | null;
  readonly left?: Readonly<Record<string, number>>;
  readonly outcomes?: readonly string[];
  /** The protocols of the plugins that answer 503. */
  readonly protocols?: readonly unknown[];
}

export type ProtectionTable = readonly (readonly [what: string, more: Members, expected: Expected])[];

export function testProtection(table: ProtectionTable): void {
  for (const [what, more, { closed, route, left = {}, outcomes, protocols }] of table) {
    test(what, () => {
      const base = { _format_version: "3.0", services: [{ name: "s", url: "https://s.example" }], routes: [openRoute] };
      const { document, unserved } = servablePart({ ...base, ...more });
      assert.deepEqual(checkDocument(document).violations ?? [], []);
      const lists = document as unknown as Readonly<Record<string, readonly Members[] | undefined>>;
      const closedPlugins = (lists.plugins ?? []).filter(({ _sluice }) => Object(_sluice).unavailable !== undefined);
      const scopes = closedPlugins.map((plugin) => {
        const scope = ["service", "route", "consumer", "consumer_group"].filter((name) => Object(plugin[name]).id);
        return [plugin.name, ...scope].join(" of ");
      });
      assert.deepEqual(scopes.toSorted(), closed.toSorted());
      if (protocols !== undefined)
        assert.deepEqual(
          closedPlugins.map((plugin) => plugin.protocols),
          protocols,
        );
      const kept = lists.routes?.find(({ name }) => name === "r" || name === undefined) ?? null;
      if (route === null) assert.equal(kept, null);
      else if (route !== undefined)
        assert.deepEqual(Object.fromEntries(Object.keys(route).map((name) => [name, kept?.[name]])), route);
      for (const [collection, count] of Object.entries(left))
        assert.equal((lists[collection] ?? []).length, count, collection);
      const told = unserved.map(
        ({ outcome, violation: { path }, dependents, closedRoutes }) =>
          `${outcome} ${path.filter((step) => step !== "@entity").join(".")}${dependents ? ` +${dependents}` : ""}` +
          (closedRoutes.length > 0 ? `, closed ${closedRoutes}` : ""),
      );
      if (outcomes !== undefined) assert.deepEqual(told.toSorted(), outcomes.toSorted());
    });
  }
}
