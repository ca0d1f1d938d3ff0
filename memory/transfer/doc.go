// Package transfer copies a memory from one store to another: facts with their histories,
// documents, values, conversations and the turns that wait to be learned.
//
// [Export] writes what a memory keeps as lines of JSON, and [Import] stores such lines in any
// other memory: from SQLite to PostgreSQL, from a backup, from one machine to another. IDs,
// times, versions of facts and vectors stay as they are, so nothing is embedded again. Both
// hold a few hundred rows in memory at a time, or one document or conversation that is larger.
//
// An import can be repeated: what the memory has already stays as it is. So one that was
// interrupted goes on where it ended.
//
// Some things are not copied. Each store gives values and conversations versions of its own.
// A store that has forgotten a scope does not tell another one, and does not tell which jobs
// (memory.Change.Job) it applied: stop what writes to a memory before it is moved.
package transfer
