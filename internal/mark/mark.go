// Package mark has the names of the pending writes that the engine stores for itself: questions,
// answers, failures and the like. They are part of stored data, so no name may change.
package mark

// These are the channels of marks. A mark is a pending write of the engine.
// A pending write with any other channel is a write to a channel of the graph.
const (
	Result  = "$result" // the whole result of a task that RunTasks ran; the data is a list of changes
	Done    = "$done"   // the task has finished, and its result has no other pending write; no data
	Goto    = "$goto"   // a target of the task; the data is the name of a node
	Send    = "$send"   // a target of the task; the data is the sent task
	Parent  = "$parent" // a write for the parent graph
	Persist = "$memory" // the newest checkpoints of persistent subgraphs, by name
	Ask     = "$ask"    // the open questions of the task; the data is a list
	Answer  = "$answer" // an answer to a question
	Once    = "$once"   // the result of a side effect
	Stop    = "$stop"   // a run stopped without a failure; the data is a list of static pauses
	Error   = "$error"  // the text of the last failure of the task
	Void    = "$void"   // for each task, the index below which its results do not count
	Gone    = "$gone"   // replaces a pending write that does not count any more; no data
)

// EndOfResult is a bit in the kind of the last pending write of a task's result.
// Older versions stored a [Done] after that write instead.
const EndOfResult = 0x80

// AsksAgain is the kind of an [Error] of a task that refused an answer and so waits for another one.
const AsksAgain = 1
