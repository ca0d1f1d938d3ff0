// Package interop tests that Weft and LangChain read each other's messages. LangChain
// loads and writes messages of Weft, Weft loads and writes messages of LangChain, and the
// test compares the descriptions of each message by both. The package has no other code.
//
// By default the test uses recorded answers of LangChain for JavaScript and Python. With
// WEFT_INTEROP=1 it installs @langchain/core from npm and langchain-core from PyPI in a
// temporary folder and runs them, which needs node, npm and python3. With
// WEFT_INTEROP=record it also records their answers.
package interop
