import { createReplyFromProxy } from "../../../gateway/src/proxy/reply-from/listener.ts";
import { engineSuite } from "./suite.ts";

engineSuite({ name: "reply-from", createProxy: createReplyFromProxy });
