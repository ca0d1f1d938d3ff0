// Clients runs real clients against a server with the graphs of package protocolgraphs: the SDKs of
// LangGraph for JavaScript and Python, their hooks for React in Chromium, RemoteGraph, assistant-ui,
// AG-UI, the SDKs of OpenAI and of MCP.
//
//	go run ./internal/clients [-run sdk] [-store memory] [-serve ADDRESS]
//
// Each folder is a project for Node or Python with the exact versions of its packages. The program
// copies the projects into a folder of the user's cache, installs the packages of their lock files, and
// runs their tests. The variable BASE_URL has the address of the server. SPARE_URL has the address of
// another server with the same graphs. SERVING_URL and PAGES_URL have the addresses of examples/serving and
// examples/pages. The folders docs and python/docs contain the programs that the documents quote. The tests
// change only the address of the server in them. At the end the program prints a table. The exit status is
// 1 if a test fails, and 2 if a program is missing.
//
// With -serve it only serves the graphs until it is interrupted.
package main
