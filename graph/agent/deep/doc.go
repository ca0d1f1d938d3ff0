// Package deep has the parts of an agent for long tasks: files, long results in files, skills and
// commands. Each part is a middleware that any agent can use:
//
//   - [FileTools] gives an agent tools for files: ls, read_file, write_file, edit_file, glob and
//     grep. The files are in the state of the agent ([State]), in a folder ([Dir]), or in several
//     places ([Mount]).
//   - [MoveResults] writes long results of tools to files. The model gets the beginning.
//   - [Skills] lists instructions in the prompt. The model reads them when it needs them.
//   - [Commands] lets the model run shell commands, which a person has to approve.
//
// [New] returns an agent with these parts, a to-do list, sub-agents and summaries of long
// conversations.
//
// The tools have the names of the Python library deepagents, so its prompts can be used.
package deep
