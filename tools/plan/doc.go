// Package plan runs tool calls that depend on each other. A model or a program writes the
// calls as actions. Actions that do not depend on each other run at the same time.
//
//	actions := []tools.Action{
//		{ID: "find", Tool: "search_events", Arguments: []byte(`{"text":"John"}`)},
//		{ID: "drop", Tool: "delete_event", Arguments: []byte(`{"id":"${find.0.id}"}`)},
//	}
//	results, err := plan.Run(ctx, set, actions, plan.Options{})
//	fmt.Println(results["drop"].Message)
//
// Rules:
//
//   - An action waits for the actions in its depends_on and for the actions that its
//     arguments refer to. Cycles and unknown names are reported before an action runs;
//     see [Check].
//   - If a string in the arguments is one reference, such as "${find}" or
//     "${find.0.id}", it is replaced by the result or a part of it, with its JSON type.
//     Within other text, a reference is replaced by text. "$${" stands for "${".
//     References in a result are not resolved.
//   - By default five actions run at the same time, and each has 30 seconds; see
//     [tools.Options]. If an action fails, the actions that depend on it are skipped
//     with a result that says why, and the others run.
//   - Approval, bound values and limits of [tools.Options] apply to each action, with its
//     resolved arguments. [Questions] and [Approved] let a person approve a plan as a
//     whole. With tools.Options.Once, which is graph.Once in a graph, each result is
//     stored, so a plan that pauses or is killed resumes without repeating actions.
package plan
