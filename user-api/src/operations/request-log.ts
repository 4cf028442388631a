/** One line for each request that was answered. */
import { type FastifyReply, type FastifyRequest, LogController } from "fastify";

/** What of an answer is logged besides its request, status and time. */
export interface AnsweredOperation {
  readonly operation?: string;
  readonly type: string;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The operation that was executed. */
    answered: AnsweredOperation | null;
  }
}

/** Fastify's own log has two lines, and knows nothing of operations. */
export class RequestLog extends LogController {
  constructor() {
    super({ requestIdLogLabel: "requestId" });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const milliseconds = Math.round(reply.elapsedTime * 10) / 10;
    const line = { req: request, status: reply.statusCode, milliseconds, ...request.answered };
    if (error) request.log.error({ ...line, err: error }, "the answer could not be sent");
    else request.log.info(line, "answered");
  }
}
