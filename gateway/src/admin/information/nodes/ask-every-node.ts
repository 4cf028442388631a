/** Asks every node for facts that only the node itself knows. */
import { NODE_ENDPOINT_ID } from "@sluice/model";
import type { AdminContext } from "../../context.ts";
import { HttpError, noNodeKnown } from "../../http/errors.ts";

interface NodeAnswers<Body> {
  readonly answered: readonly { readonly node: string; readonly body: Body }[];
  /** Addresses of the nodes from which there is no answer, and why. */
  readonly unanswered: readonly { readonly node: string; readonly reason: string }[];
}

/** @throws HttpError 503 when no node answers. */
export async function askEveryNode<Body>(
  { fleet }: Pick<AdminContext, "fleet">,
  path: string,
  body: unknown,
): Promise<NodeAnswers<Body>> {
  // As POST, because a GET ends with the first node that answers.
  const request = { method: "POST", path: [path], query: {}, body } as const;
  const { answered, unanswered } = await fleet.askPlugin({ plugin: NODE_ENDPOINT_ID, request });
  const failed = answered.flatMap(({ node, response }) => {
    if (response === null) return [{ node, reason: "it has no such endpoint: upgrade it" }];
    return response.status < 400 ? [] : [{ node, reason: messageOf(response.body) ?? `status ${response.status}` }];
  });
  const answers: NodeAnswers<Body> = {
    answered: answered.flatMap(({ node, response }) =>
      response !== null && response.status < 400 ? [{ node, body: response.body as Body }] : [],
    ),
    unanswered: [...unanswered, ...failed],
  };
  if (answers.answered.length === 0) throw noAnswerError(answers.unanswered);
  return answers;
}

const messageOf = (body: unknown): string | undefined => {
  const { message } = Object(body) as { readonly message?: unknown };
  return typeof message === "string" ? message : undefined;
};

function noAnswerError(unanswered: NodeAnswers<unknown>["unanswered"]): HttpError {
  if (unanswered.length === 0) return noNodeKnown();
  const nodes = unanswered.map(({ node, reason }) => `${node} (${reason})`).join(", ");
  return new HttpError(503, { message: `no node has answered: ${nodes}` });
}
