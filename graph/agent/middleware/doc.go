// Package middleware provides middleware for agents: retries, limits, guards, redaction,
// summaries and more. Each function returns an [agent.Middleware] for Options.Use:
//
//	bot, err := agent.New("helper", model, set, agent.Options{Use: []agent.Middleware{
//		middleware.Retry(llm.RetryPolicy{}),
//		middleware.ToolLimit(middleware.Limit{Tool: "search", Run: 5}),
//		middleware.Redact(middleware.Personal()...),
//	}})
//
// The first middleware of the list is the outermost. This order works well: limits, then
// [Shorten] and [ClearResults], then [Redact], and last [Retry], [Fallback] and [CachePrompt].
package middleware
