import { start } from "../main";

start(<main className="p-6"><h1>Studio</h1></main>);
