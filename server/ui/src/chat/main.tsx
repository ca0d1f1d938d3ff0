import { start } from "../main";

start(<main className="p-6"><h1>Chat</h1></main>);
