/** A proxy: the simplest handler on @fastify/reply-from. Forwards /api/x to the upstream's /x. Prints its port. */
import replyFrom from "@fastify/reply-from";
import Fastify from "fastify";

const [upstream = ""] = process.argv.slice(2);
const app = Fastify();
await app.register(replyFrom, { base: upstream, disableRequestLogging: true, undici: { connections: 512 } });
app.all("/*", (request, reply) => reply.from(request.url.slice("/api".length)));
const address = await app.listen({ host: "127.0.0.1", port: 0 });
console.log(`listening on ${new URL(address).port}`);
process.once("SIGTERM", () => app.close());
