/** The web console of Sluice. */
import { render } from "preact";
import { App } from "./app/app.tsx";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/layout.css";
import "./styles/pages.css";
import "./styles/topology.css";

const place = document.getElementById("app");
if (place) render(<App />, place);
