import { start } from "../main";
import { Studio } from "./Studio";

start(<Studio />);
