// Package extract learns facts about a user from the turns of a conversation, in the
// background.
//
//	learner, err := extract.New(m, extract.Options{
//		Extractor: extract.NewExtractor(model, extract.ExtractorOptions{}),
//		Verifier:  extract.NewVerifier(model),
//		Decider:   extract.NewDecider(model),
//		Logger:    slog.Default(),
//	})
//	...
//	go learner.Work(ctx)                   // until ctx ends
//	...
//	learner.Learn(ctx, extract.Turn{...})  // returns at once
//	...
//	err = learner.Drain(ctx)               // on shutdown
//
// Rules:
//
//   - A turn is a job in a [driver.TurnStore]. With a durable queue, such as those of sqlitememory and
//     pgmemory, a turn that [Learner.Learn] accepted is learned even if the process is
//     killed. A turn is learned once, by its key.
//   - A failure is not returned to a caller. It is counted and logged, and the turn is tried again. A
//     turn that always fails is parked after [Options.Attempts].
//   - Each fact has a quote: a verbatim span of the user's own words in that turn, which [Evidence]
//     returns. A proposal without a quote is dropped and counted. Words of tools, documents and the
//     assistant are not evidence.
//   - A quote proves that the user wrote these words, but not that they support the fact. So a fact
//     has [Lowest] trust, and recall leaves it out, unless [Options.Verifier] supports it. [TrustOf]
//     lists all rules.
//   - A known fact is not stored again. A decider is asked only if related facts are known. If a new
//     fact contradicts a known fact, the known fact is closed and not deleted. A fact of Lowest trust
//     closes only facts of Lowest trust.
package extract
