package temporal

import "time"

// Options are the settings that the clients and the workers of a graph share. The zero value works.
type Options struct {
	// TaskQueue is the task queue of the workflows and runs. Empty means "weft". A worker also
	// polls a task queue for each [graph.Options.Version] of its graphs: TaskQueue, "@" and the version.
	TaskQueue string
	// HeartbeatTimeout is the time after which a worker that is silent counts as dead. Its run then
	// resumes on another worker. A cancelled run learns of it within 0.8 of this time. Zero means 10 seconds.
	HeartbeatTimeout time.Duration
	// Handover is the time for which an unfinished turn waits for a worker with the version of the
	// graph that began it. Then a worker with another version goes on, with its
	// [graph.Migrations]. Zero means 10 seconds.
	Handover time.Duration
	// RunTimeout is the maximum time of a run, with its attempts on all workers and the time for which it waits for
	// one. A run that takes longer fails with [graph.ErrTimeout], and the next input of the thread begins. Zero means
	// 30 days.
	RunTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.TaskQueue == "" {
		o.TaskQueue = "weft"
	}
	if o.HeartbeatTimeout <= 0 {
		o.HeartbeatTimeout = 10 * time.Second
	}
	if o.Handover <= 0 {
		o.Handover = 10 * time.Second
	}
	if o.RunTimeout <= 0 {
		o.RunTimeout = 30 * 24 * time.Hour
	}
	return o
}

// buildQueue returns the task queue of the workers with a version of the graph.
func buildQueue(queue, version string) string {
	if version == "" {
		return queue
	}
	return queue + "@" + version
}
