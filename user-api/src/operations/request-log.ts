/** Logs one line for each request. */
import { type FastifyReply, type FastifyRequest, LogController } from "fastify";

/** The logged members of an executed operation. */
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

/** Replaces Fastify's request log, which writes two lines and does not know operations. */
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
