package ui

import (
	"html"
	"strings"
)

// A shell is the HTML that a page shows until its program is loaded. It has the same classes as the elements that replace
// it: Start in src/chat/Conversation.tsx, and the header in src/studio/Studio.tsx.

// chatShell returns the shell of the page without a conversation. theme.js hides it if the page opens a conversation.
func chatShell(s *settings) string {
	var b strings.Builder
	b.WriteString(`<div data-shell class="flex h-full"><div class="hidden w-[260px] shrink-0 border-e bg-surface lg:block"></div>` +
		`<div class="flex min-w-0 flex-1 flex-col"><div class="h-13 shrink-0 border-b lg:hidden"></div>` +
		`<div class="flex h-full flex-col overflow-y-auto px-4"><div class="m-auto w-full max-w-[680px] py-8">` +
		`<h1 class="text-center text-[28px] leading-tight font-semibold tracking-tight text-balance">` + html.EscapeString(s.Title) + `</h1>`)
	if s.Greeting == "" {
		b.WriteString(`<div class="mt-8"></div>`)
	} else {
		b.WriteString(`<p class="mx-auto mt-2 mb-8 max-w-[52ch] text-center text-balance text-muted">` + html.EscapeString(s.Greeting) + `</p>`)
	}
	b.WriteString(`<div class="shell-field rounded-[20px] border bg-raised"></div>`)
	if len(s.Suggestions) > 0 {
		b.WriteString(`<ul class="mt-4 grid gap-2 sm:grid-cols-2">`)
		for _, text := range s.Suggestions {
			b.WriteString(`<li class="rounded-card border px-4 py-2.5 text-start text-sm text-muted" dir="auto">` + html.EscapeString(text) + `</li>`)
		}
		b.WriteString(`</ul>`)
	}
	b.WriteString(`</div></div></div></div>`)
	return b.String()
}

const studioShell = `<div data-shell class="flex h-full flex-col"><div class="flex h-13 shrink-0 items-center gap-3 border-b px-3 md:px-4">` +
	`<span class="font-semibold tracking-tight">Weft</span></div></div>`
