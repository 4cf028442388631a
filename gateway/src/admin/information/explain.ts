/** `POST /explain`: how the nodes would route and answer a request, and why. Nothing is sent. */
import { NODE, nodePaths, readExplainRequest } from "@sluice/model";
import type { AdminContext } from "../context.ts";
import { jsonBodyOf } from "../entities/plugin-endpoints.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { HttpError, invalidEntity } from "../http/errors.ts";
import { noAnswer } from "./ask-every-node.ts";

export const explainRoutes = ({ fleet }: Pick<AdminContext, "fleet">): readonly AdminRoute[] => [
  {
    url: "/explain",
    handlers: {
      async POST(received) {
        const { value, violations } = readExplainRequest(jsonBodyOf(received));
        if (violations) throw invalidEntity(violations);
        // As GET, which ends with the first node that answers: all nodes serve the same configuration.
        const request = { method: "GET", path: [nodePaths.explain], query: {}, body: value } as const;
        const { answered, unanswered } = await fleet.askPlugin({ plugin: NODE, request });
        const responses = answered.flatMap(({ response }) => response ?? []);
        const [first] = responses.toSorted((one, other) => one.status - other.status);
        if (first !== undefined) return { status: first.status, body: first.body };
        if (answered.length === 0 || unanswered.length > 0) throw noAnswer(unanswered);
        throw new HttpError(503, { message: "the nodes cannot explain requests: upgrade them" });
      },
    },
  },
];
