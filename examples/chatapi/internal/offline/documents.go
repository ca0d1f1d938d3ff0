package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/agentmemory"
)

// NoPassage is the answer if no fact and no passage of the documents fits.
const NoPassage = "I found no passage with all words of your question."

var (
	ofUser  = regexp.MustCompile(`(?i)\b(?:I|me|my)\b`)
	home    = regexp.MustCompile(`(?i)^where do i live\?*$`) // a fact with "live" or "moved" says where
	toModel = regexp.MustCompile(`(?i)\byour?\b`)
)

// lookUp answers a question about the user with facts, or else with a passage of the documents. For
// another question, it tries the passages first. Each fact and quotation has all keywords of the question.
// If nothing fits a question about the user, the answer lists the recalled facts.
func (t talk) lookUp(question string) llm.Message {
	words, mine, query := keywords(question), ofUser.MatchString(question), question
	if slices.Contains(words, "live") {
		query += " moved"
	}
	order := []string{agentmemory.SearchTool, agentmemory.RecallTool}
	if mine {
		slices.Reverse(order)
	} else if toModel.MatchString(question) {
		order = order[:1] // no fact is about the model
	}
	for _, tool := range order {
		answer, called := t.answerOf(tool)
		if !called {
			return t.call(tool, map[string]any{"query": query})
		}
		text := ""
		if tool == agentmemory.RecallTool {
			text = told(fitting(question, about(words, facts(answer))))
		} else if len(words) > 1 || !mine { // "What do I need?" fits too many passages
			text = quote(words, answer)
		}
		if home.MatchString(question) && text != "" {
			return llm.Assistant(text)
		} else if text != "" {
			return llm.Assistant(rules.Quoted(question, text))
		}
	}
	recalled, _ := t.answerOf(agentmemory.RecallTool)
	if text := told(facts(recalled)); mine && text != "" {
		return llm.Assistant("I remember nothing that fits all of your words. " + text)
	}
	return llm.Assistant(NoPassage)
}

const maxQuotes = 3

var (
	reference = regexp.MustCompile(`(?is)<passage number="\d+" source="([^"]*)"(?: title="[^"]*")?(?: section="([^"]*)")?[^>]*>\n(.*?)\n</passage>`)
	entities  = strings.NewReplacer("&quot;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// quote quotes sentences of passages that have all the words. If there is none, it quotes sentences that
// have the words together with their heading.
func quote(words []string, passages string) string {
	var own, under []string
	for _, p := range reference.FindAllStringSubmatch(passages, -1) {
		where := strings.Trim(p[1]+", "+p[2], ", ")
		for _, s := range statements(p[3], strings.HasSuffix(strings.ToLower(p[1]), ".csv")) {
			text := s + " (" + entities.Replace(where) + ")"
			if hasAll(wordSet(s), words) {
				own = append(own, text)
			} else if hasAll(wordSet(s+" "+p[2]), words) {
				under = append(under, text)
			}
		}
	}
	if len(own) == 0 {
		own = under
	}
	if len(own) < 2 {
		return strings.Join(own, "")
	}
	text := "- " + strings.Join(own[:min(len(own), maxQuotes)], "\n- ")
	if more := len(own) - maxQuotes; more > 0 {
		text += fmt.Sprintf("\n\nI left out %d more that have your words.", more)
	}
	return text
}
