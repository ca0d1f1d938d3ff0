// Package middleware has the middleware that most agents need. Each function returns an
// [agent.Middleware] for Options.Use:
//
//	bot, err := agent.New("helper", model, set, agent.Options{Use: []agent.Middleware{
//		middleware.Retry(llm.RetryPolicy{}),
//		middleware.ToolLimit(middleware.Limit{Tool: "search", Run: 5}),
//		middleware.Redact(middleware.Personal()...),
//	}})
//
// The first middleware of the list is the outermost. These places work well: limits first,
// then what changes the conversation ([Shorten], [ClearResults]), then [Redact], and last what
// is near the model: [Retry], [Fallback], [CachePrompt].
package middleware
