/** The conformance suite of document sources. Run by push.test.ts, file.test.ts and database.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeReport } from "@sluice/model";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import type { Source } from "../../../gateway/src/sources/source.ts";
import { waitFor } from "../../../tools/process/index.ts";

/** A source under test, with control over its input. */
export interface TestedSource {
  readonly source: Source;
  /** Makes a document available: services with these names; `broken` adds an error. */
  offer(names: readonly string[], options?: { readonly broken?: boolean }): Promise<void>;
  end(): Promise<void>;
}

export interface SubjectFactory {
  readonly name: string;
  /** A source on new input. A push source has no document before `offer`; other sources have the service `first`. */
  create(): Promise<TestedSource>;
}

/** The document that `offer` makes available. */
export const documentWithRoutes = (names: readonly string[], broken = false) => ({
  _format_version: "3.0",
  services: names.map((name) => ({ name, ...(broken ? { host: "up.test", port: "no" } : { host: "up.test" }) })),
});

export function sourceSuite({ name, create }: SubjectFactory): void {
  async function withSubject(
    body: (subject: TestedSource, seen: { served: string[][]; state(): NodeReport }) => Promise<void>,
  ): Promise<void> {
    const subject = await create();
    const served: string[][] = [];
    const intake = createIntake({
      node: "n",
      version: "0",
      serve: (snapshot) =>
        void served.push([...snapshot.services.values()].map((service) => service.name ?? "").sort()),
    });
    try {
      await subject.source.start(intake);
      await subject.offer(["first"]);
      await waitFor(() => served.length > 0, { what: "the first document" });
      await body(subject, { served, state: intake.state });
    } finally {
      await subject.source.stop();
      await subject.end();
    }
  }

  test(`${name}: an offered document is served until a newer document replaces it`, () =>
    withSubject(async ({ offer }, { served }) => {
      assert.deepEqual(served, [["first"]]);
      await offer(["first", "second"]);
      await waitFor(() => served.length > 1, { what: "the second document" });
      assert.deepEqual(served.at(-1), ["first", "second"]);
      await offer([]);
      await waitFor(() => served.length > 2, { what: "the empty document" });
      assert.deepEqual(served.at(-1), []);
    }));

  test(`${name}: an invalid document is not served, and the next valid document is served`, () =>
    withSubject(async ({ offer }, { served, state }) => {
      const { hash, revision } = state();
      await offer(["broken"], { broken: true });
      await offer(["good"]);
      await waitFor(() => served.length > 1, { what: "the valid document" });
      assert.deepEqual(served, [["first"], ["good"]]);
      assert.notEqual(state().hash, hash);
      assert.ok(state().revision > revision);
    }));

  test(`${name}: a document with equal content is not served again`, () =>
    withSubject(async ({ offer }, { served, state }) => {
      const { hash } = state();
      await offer(["first"]);
      await offer(["second"]);
      await waitFor(() => served.length > 1, { what: "the second document" });
      assert.deepEqual(served, [["first"], ["second"]]);
      assert.notEqual(state().hash, hash);
    }));

  test(`${name}: after a stop no further document is served`, async () => {
    const subject = await create();
    const served: string[] = [];
    const intake = createIntake({ node: "n", version: "0", serve: (snapshot) => void served.push(snapshot.hash) });
    await subject.source.start(intake);
    await subject.offer(["first"]);
    await waitFor(() => served.length > 0, { what: "the first document" });
    await subject.source.stop();
    await subject.offer(["second"]).catch(() => {});
    assert.equal(served.length, 1);
    await subject.end();
  });
}
