// Package stored reads threads whose graph is not part of the program. [Graph] builds a graph from
// the checkpoints of a thread: the channels and nodes that occur in them. The graph can read the
// states, tasks and questions of the thread. Its nodes cannot run.
package stored
