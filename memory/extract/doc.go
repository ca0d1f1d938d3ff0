// Package extract learns facts about a user from the turns of a conversation, in the
// background.
//
//	learner, err := extract.New(m, extract.Options{
//		Extractor: extract.NewExtractor(model, extract.ExtractorOptions{}),
//		Verifier:  extract.NewVerifier(model),
//		Decider:   extract.NewDecider(model),
//	})
//	...
//	go learner.Work(ctx)                   // until ctx ends
//	...
//	learner.Learn(ctx, extract.Turn{...})  // returns at once
//	...
//	err = learner.Drain(ctx)               // on shutdown
//
// Rules to know:
//
//   - A turn is a job in a [driver.TurnStore]. With a durable queue, such as those of sqlitememory and
//     pgmemory, a turn that [Learner.Learn] accepted is learned even if the process is
//     killed. A turn is learned once, by its key.
//   - A failure reaches no caller. It is counted and logged, and the turn is tried again. A
//     turn that always fails is parked after [Options.Attempts].
//   - Each fact has a quote: a verbatim span of the user's own words in that turn, which
//     [Evidence] returns. A proposal without one is dropped and counted. Words of tools,
//     documents and the assistant are no evidence.
//   - A quote proves that the user wrote these words, and not that they support the fact. So
//     a fact has [Lowest] trust, which recall leaves out, unless [Options.Verifier] supports
//     it. [TrustOf] has all the rules.
//   - A fact that is known already is not stored again. A decider is asked only if related
//     facts are known. A fact that a new fact contradicts is closed, and not deleted. A fact
//     of Lowest trust closes only facts of Lowest trust.
package extract
