// Package interop tests that Weft and LangChain can read each other's messages. LangChain loads
// and writes messages of Weft, and Weft loads and writes messages of LangChain. The test
// compares Weft's description of each message with LangChain's description. The package
// contains only tests.
//
// By default the test uses recorded answers of LangChain for JavaScript and Python. With
// WEFT_INTEROP=1 it installs @langchain/core from npm and langchain-core from PyPI in a
// temporary folder and runs them, which needs node, npm and python3. With
// WEFT_INTEROP=record it also records their answers.
package interop
