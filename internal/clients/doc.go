// Clients runs real clients against a server with the graphs of package protocolgraphs: the SDKs of
// LangGraph for JavaScript and Python, their hooks for React in Chromium, RemoteGraph, assistant-ui,
// AG-UI, the SDKs of OpenAI and of MCP.
//
//	go run ./internal/clients [-run sdk] [-store memory] [-serve ADDRESS]
//
// Each folder is a project for Node or Python with the exact versions of its packages. The program
// copies the projects into a folder of the user's cache, installs what their lock files name, and
// runs their tests. Each project has the address of the server in BASE_URL, that of another one with the same graphs in SPARE_URL, and
// those of examples/serving and examples/pages in SERVING_URL and PAGES_URL. The projects docs and python/docs have the programs that the documents
// quote: they run as the documents show them, except for the address of the server. At the end the program
// prints a table. Its exit status is 1 when a test fails, and 2 when a program is missing.
//
// With -serve it only serves the graphs until it is interrupted.
package main
