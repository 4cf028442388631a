import { createHttp1Proxy } from "../../../gateway/src/proxy/http1/listener.ts";
import { engineSuite } from "./suite.ts";

engineSuite({ name: "http1", createProxy: createHttp1Proxy });
