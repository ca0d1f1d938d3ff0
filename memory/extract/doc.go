// Package learn finds out what a turn of a conversation says that is worth knowing
// later, and stores it, without holding the turn up.
//
//	learner, err := extract.New(m, extract.Options{
//		Extractor: extract.NewExtractor(model, extract.ExtractorOptions{}),
//		Decider:   extract.NewDecider(model),
//	})
//	...
//	go learner.Work(ctx)                 // until ctx ends
//	...
//	learner.Learn(ctx, extract.Turn{...})  // returns at once
//	...
//	err = learner.Drain(ctx)             // on shutdown
//
// What to know about it:
//
//   - A turn is a job in a [Queue]. With a durable one, such as those of sqlitememory and
//     pgmemory, what [Learner.Learn] took is learned even if the process is killed. Each
//     turn is learned once, by its key, however often it is given and tried.
//   - Nothing that goes wrong here reaches who gave the turn: it is counted, logged and
//     tried again. A job that always fails is parked after [Options.Attempts].
//   - Only what a user said becomes a fact. An extractor has to say which of the user's
//     words a fact comes from, and a [Claim] is checked against them: a fact that says more is stored as
//     the user put it, or dropped, counted and logged. What a tool or a document said, and the
//     assistant repeated, is not learned.
//   - What is known already is found out without a model: the same words, or nearly the
//     same vector. A model is asked only where something related is known. What a new fact
//     contradicts is closed and not deleted.
package extract
