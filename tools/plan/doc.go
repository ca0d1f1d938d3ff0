// Package plan runs several tool calls that build on one another: a model, or a
// program, writes them down as actions, and they run at the same time as far as
// their order allows.
//
//	actions := []tools.Action{
//		{ID: "find", Tool: "search_events", Arguments: []byte(`{"text":"John"}`)},
//		{ID: "drop", Tool: "delete_event", Arguments: []byte(`{"id":"${find.0.id}"}`)},
//	}
//	results, err := plan.Run(ctx, set, actions, plan.Options{})
//	fmt.Println(results["drop"].Message)
//
// What to know:
//
//   - An action waits for those in its depends_on, and for those that its
//     arguments refer to. Circles, and names of what is not there, are refused
//     before anything runs; see [Check].
//   - A string in the arguments that is a reference as a whole, "${find}" or
//     "${find.0.id}", becomes the earlier result or a part of it, as the value
//     that it is. Within other text a reference becomes text. "$${" stands for
//     "${". What a result says is never read for references itself.
//   - Five actions run at the same time and each has 30 seconds, as
//     [tools.Options] says. One that fails does not stop the others; what
//     depends on it is skipped, and its result says why.
//   - Approval, bound values and limits are those of [tools.Options], for each
//     action, with the arguments that it then has. [Questions] and [Approved] let a
//     person approve a plan as a whole. With tools.Options.Once, in
//     a graph graph.Once, each result is stored once: a plan that pauses or is
//     killed goes on where it was.
package plan
