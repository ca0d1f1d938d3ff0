// Package interop proves that Weft and LangChain read each other's messages. It
// has no code, only a test: each message of Weft's is loaded and written again by
// LangChain, each of LangChain's by Weft, and what both say of it is compared.
//
// The test runs on what the two LangChains answered when it was last recorded.
// With WEFT_INTEROP=1 it installs @langchain/core from npm and langchain-core
// from PyPI in a folder of its own and asks them, for which it needs node, npm
// and python3; with WEFT_INTEROP=record it keeps what they answer.
package interop
