import { createElement } from "react";
import { createRoot } from "react-dom/client";
import App from "./App";
import Signed from "./Signed";

const token = new URLSearchParams(location.search).get("token");
createRoot(document.getElementById("root")).render(token ? createElement(Signed, { token }) : createElement(App));
