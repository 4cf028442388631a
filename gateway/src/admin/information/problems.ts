/**
 * `GET /problems`: resources and files that are not served as written. `GET /origins/{collection}/{id}`: where an entity
 * is written.
 */
import { type Collection, collections } from "@sluice/model";
import type { AdminContext } from "../context.ts";
import { isId } from "../entities/resolve-url.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { notFound } from "../http/errors.ts";

/** Maximum number of problems in a response. */
const MAXIMUM = 1000;

const isCollection = (name: string | undefined): name is Collection => collections.some((known) => known === name);

export const problemRoutes = ({ store }: Pick<AdminContext, "store">): readonly AdminRoute[] => [
  {
    url: "/problems",
    handlers: {
      async GET() {
        const problems = (await store.problems?.()) ?? [];
        return { status: 200, body: { data: problems.slice(0, MAXIMUM), total: problems.length } };
      },
    },
  },
  {
    url: "/origins/:collection/:id",
    handlers: {
      async GET({ params: { collection, id = "" } }) {
        if (!isCollection(collection) || !isId(id) || !(await store.find(collection, { id }))) throw notFound();
        const origin = store.origin ? await store.origin(collection, id) : ({ in: "database" } as const);
        if (!origin) throw notFound();
        return { status: 200, body: origin };
      },
    },
  },
];
